# What Fish offers for each line of a file: see run.
if test $WAY = read
    # not what lies where Fish looks
    set fish_complete_path
    source $SCRIPT
end
set number 0
while read -l line
    set number (math $number + 1)
    for candidate in (complete -C $line)
        # the description follows a tab
        printf '%s %s\n' $number (string split -f1 \t -- $candidate)
    end
end <$LINES_FILE
