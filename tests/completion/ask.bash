# What Bash offers for each line of a file: see run. The words are split as readline does it
# (COMP_WORDBREAKS: at = as well as at blanks), and the function that `complete` has for the command is called.
if [ "$WAY" = read ]; then
    . "$SCRIPT"
else
    . "$LOADER"
fi

# outside readline this fails
compopt() {
    true
}

# ask NUMBER LINE
ask() {
    local cur prev spec function
    local -a COMP_WORDS COMPREPLY=()
    local COMP_LINE=$2 COMP_POINT=${#2} COMP_CWORD
    read -ra COMP_WORDS <<<"${2//=/ = }"
    # the word that is completed is empty behind a blank
    [[ $2 == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    # behind =, the word is = in the list and empty in the second argument
    [[ $cur == = ]] && cur=
    if [ "$WAY" != read ] && ! complete -p "${COMP_WORDS[0]}" >/dev/null 2>&1; then
        _completion_loader "${COMP_WORDS[0]}"
    fi
    spec=$(complete -p "${COMP_WORDS[0]}") || return
    function=${spec#* -F }
    "${function%% *}" "${COMP_WORDS[0]}" "$cur" "$prev"
    # what readline does with -o default if there is nothing
    [[ ${#COMPREPLY[@]} == 0 && $spec == *' -o default '* ]] && COMPREPLY=($(compgen -f -- "$cur"))
    printf "$1 %s\n" "${COMPREPLY[@]}"
}

number=0
while IFS= read -r line; do
    number=$((number + 1))
    ask "$number" "$line"
done <"$LINES_FILE"
