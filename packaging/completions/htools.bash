# Bash completion of htools and its tools: from the program itself, whose options it therefore knows.
eval "$(/usr/bin/htools completion bash)"
