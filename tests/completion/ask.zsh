# What Zsh offers for each line of a file: see run. A second Zsh, on a terminal of its own, has a
# key that completes what is in a file, and writes down what `compadd` gets.
zmodload zsh/zpty
zmodload zsh/zselect
export WORK=$(mktemp -d)
trap 'zpty -d child; rm -rf $WORK' EXIT
cat >$WORK/child <<'CHILD'
[[ -n $FUNCTIONS ]] && fpath=($FUNCTIONS $fpath)
autoload -Uz compinit
compinit -u -D
[[ $WAY == read ]] && source $SCRIPT
compadd() {
    local -a hits
    # calls that only fill arrays offer nothing
    if [[ "${(j: :)@[1,(i)(-|--)]}" != *-[OAD]\ * ]]; then
        builtin compadd -O hits "$@"
        (( $#hits )) && print -rl -- $hits >>$WORK/answer
    fi
    builtin compadd "$@"
}
candidates() {
    BUFFER=$(<$WORK/line)
    # a final blank counts
    BUFFER=${BUFFER%.}
    CURSOR=$#BUFFER
    zle complete-word
    BUFFER=
    : >$WORK/done
}
zle -N candidates
bindkey '^T' candidates
: >$WORK/done
CHILD
finished() {
    repeat 500; do
        [[ -e $WORK/done ]] && return
        zselect -t 2
    done
    print -u2 "no answer to: $1"
}
zpty -b child zsh -f -i
zpty -w child "PROMPT=; source $WORK/child"
finished start
integer number=0
while IFS= read -r line; do
    number+=1
    rm -f $WORK/done
    : >$WORK/answer
    print -rn -- "$line." >$WORK/line
    zpty -w -n child $'\x14'
    finished "$line"
    while IFS= read -r candidate; do
        print -r -- $number $candidate
    done <$WORK/answer
done <$LINES_FILE
