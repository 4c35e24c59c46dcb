# Fish completion of htools and its tools: from the program itself, whose options it therefore knows.
/usr/bin/htools completion fish | source
