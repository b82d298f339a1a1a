# Completion of the `sluice` command for bash. Options are read from the command's own help, so that
# this file says nothing twice.

# Options of a subcommand: every word of its help that begins with a dash, at the beginning of a line.
_sluice_options() {
    "$1" "${@:2}" --help 2>/dev/null | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n'
}

# The values that the help shows for an option, which comes first: --sasl TEXT:{none,anonymous,plain}
_sluice_values() {
    "${@:2}" --help 2>/dev/null |
        sed -n "s/^  \(.*,\)\{0,1\}$1\(,[^ ]*\)\{0,1\} [A-Z]*:{\([^}]*\)}.*/\3/p" | tr ',' '\n' | sed 's/->.*//'
}

_sluice() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local subcommand=${COMP_WORDS[1]} first=2
    local called=("$program" "$subcommand")
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        local commands
        commands=$("$program" --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
        return
    fi
    if [ "$subcommand" = channel ]; then
        if [ "$COMP_CWORD" = 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W 'send recv close destroy stat --help' -- "$word")
            return
        fi
        called+=("${COMP_WORDS[2]}") first=4
    fi
    case $previous in
        -f | --file | --users | --tls-ca | --tls-cert | --tls-key | --tls-client-ca | --listen-tls | --listen-tls-key)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return ;;
        -o | --output)
            mapfile -t COMPREPLY < <(compgen -W 'text json raw none' -- "$word"; compgen -f -- "$word")
            return ;;
        --*)
            local values
            values=$(_sluice_values "$previous" "${called[@]}")
            if [ -n "$values" ]; then
                mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
                return
            fi ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sluice_options "${called[@]}")" -- "$word")
    elif [[ $subcommand =~ ^(audit|passwd)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif [[ $subcommand =~ ^(send|recv|channel|bench)$ ]] && [ "$COMP_CWORD" -ge "$first" ]; then
        mapfile -t COMPREPLY < <(compgen -W 'amqp://localhost/ amqps:// ws:// wss://' -- "$word")
    fi
}

complete -o nosort -F _sluice sluice 2>/dev/null || complete -F _sluice sluice
