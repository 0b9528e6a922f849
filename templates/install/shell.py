# SPDX-License-Identifier: Apache-2.0
"""The manual page and the completions of bash, zsh and fish, from the tables of commands and
options (`inlay help --json`).

    shell.py INLAY inlay.1 inlay.bash _inlay inlay.fish      writes these files"""
import json
import subprocess
import sys


def roff(text):
    return text.replace('\\', '\\e').replace('-', '\\-').replace("'", '\\(aq')


def heads(option):
    """The ways to write it: -o, --output."""
    return (['-' + option['letter']] if 'letter' in option else []) + ['--' + option['name']]


def man(table, explained, version):
    lines = [
        '.TH INLAY 1 "" "inlay %s" "User Commands"' % version,
        '.SH NAME',
        'inlay \\- compiles an ONNX model to C for firmware',
        '.SH SYNOPSIS',
    ]
    for c in table['commands']:
        lines += [
            '.B inlay %s' % c['name'],
            '.I "%s"' % roff(c['operand']),
            '.RI [ option ...]',
            '.br',
        ]
    lines += [
        '.SH DESCRIPTION',
        'A word',
        '.BI @ FILE',
        'stands for the words in that file; blanks and line ends separate them, '
        'quotes and backslashes are as in a shell.',
    ]
    lines += ['.SH COMMANDS']
    for c in table['commands']:
        lines += ['.TP', '.B %s' % c['name'], roff(c['what'])]
    lines += ['.SH OPTIONS']
    for o in table['options']:
        value = '=\\fI%s\\fR' % roff(o['value']) if 'value' in o else ''
        lines += [
            '.TP',
            ', '.join('\\fB%s\\fR' % roff(h) for h in heads(o)) + value,
            roff(o['what']),
        ]
        if 'values' in o:
            lines += ['(%s)' % roff(', '.join(o['values']))]
        lines += ['.br', 'For %s.' % ', '.join(o['commands'])]
    lines += ['.SH EXIT STATUS']
    for s in explained['statuses']:
        lines += ['.TP', '.B %d' % s['status'], roff(s['what'])]
    lines += ['.SH DIAGNOSTICS']
    for m in explained['messages']:
        lines += ['.TP', roff(m['says']), roff(m['what']), '.br', roff(m['todo'])]
    return '\n'.join(lines) + '\n'


def for_command(table, command):
    return [o for o in table['options'] if command in o['commands']]


def topics(explained):
    """What `inlay explain` knows, by name."""
    return ' '.join(row['name'] for row in explained['statuses'] + explained['messages'])


def bash(table, explained):
    names = ' '.join(c['name'] for c in table['commands'])
    cases = ''.join(
        '    %s) options="%s" ;;\n'
        % (c['name'], ' '.join(h for o in for_command(table, c['name']) for h in heads(o)))
        for c in table['commands']
    )
    values = ''.join(
        '    %s) COMPREPLY=($(compgen -W "%s" -- "$word")); return ;;\n'
        % ('|'.join(heads(o)), ' '.join(o['values']))
        for o in table['options']
        if 'values' in o
    )
    return '''# Completion of inlay for bash, made from its table of options.
_inlay()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options=
    if [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
    if [ "$word" = = ]; then word=; fi
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "%s --help --version" -- "$word"))
        return
    fi
    case $before in
%s    esac
    case $before$word in
    help-*) ;;
    help*) COMPREPLY=($(compgen -W "%s" -- "$word")); return ;;
    explain-*) ;;
    explain*) COMPREPLY=($(compgen -W "%s" -- "$word")); return ;;
    esac
    case $command in
%s    esac
    case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _inlay inlay
''' % (
        names,
        values,
        names,
        topics(explained),
        cases,
    )


def quoted(text):
    return (
        text.replace('\\', '')
        .replace("'", "'\\''")
        .replace('[', '(')
        .replace(']', ')')
        .replace(':', ' -')
    )


def zsh_option(option):
    value = ''
    if 'value' in option:
        value = ':%s:%s' % (
            quoted(option['value']).replace(' ', '_'),
            '(%s)' % ' '.join(option['values']) if 'values' in option else '_files',
        )
    return [
        "'*%s%s[%s]%s'"
        % (
            head,
            '=' if 'value' in option and head.startswith('--') else '',
            quoted(option['what']),
            value,
        )
        for head in heads(option)
    ]


def zsh(table, explained):
    operand = (
        lambda c: "'*:name:(%s)'" % topics(explained)
        if c['name'] == 'explain'
        else "'*:file:_files'"
    )
    commands = '\n'.join(
        "        '%s:%s'" % (c['name'], quoted(c['what'])) for c in table['commands']
    )
    cases = ''.join(
        '    %s)\n        _arguments %s %s ;;\n'
        % (
            c['name'],
            ' \\\n            '.join(
                z for o in for_command(table, c['name']) for z in zsh_option(o)
            ),
            operand(c),
        )
        for c in table['commands']
    )
    return '''#compdef inlay
# Completion of inlay for zsh, made from its table of options.
_inlay()
{
    local -a commands
    commands=(
%s
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
%s    esac
}
_inlay "$@"
''' % (
        commands,
        cases,
    )


def fish(table, explained):
    lines = ['# Completion of inlay for fish, made from its table of options.']
    for c in table['commands']:
        lines.append(
            "complete -c inlay -n __fish_use_subcommand -f -a %s -d '%s'"
            % (c['name'], quoted(c['what']))
        )
    lines.append(
        "complete -c inlay -n '__fish_seen_subcommand_from explain' -f -a '%s'" % topics(explained)
    )
    for o in table['options']:
        letter = ' -s ' + o['letter'] if 'letter' in o else ''
        value = ''
        if 'values' in o:
            value = " -x -a '%s'" % ' '.join(o['values'])
        elif 'value' in o:
            value = ' -r'
        lines.append(
            "complete -c inlay -n '__fish_seen_subcommand_from %s' -l %s%s%s -d '%s'"
            % (' '.join(o['commands']), o['name'], letter, value, quoted(o['what']))
        )
    return '\n'.join(lines) + '\n'


def main():
    inlay, page, for_bash, for_zsh, for_fish = sys.argv[1:]
    said = lambda *words: subprocess.run(
        (inlay,) + words, check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    table, version = json.loads(said('help', '--json')), said('version').split()[1]
    explained = json.loads(said('explain', '--json'))
    for path, text in (
        (page, man(table, explained, version)),
        (for_bash, bash(table, explained)),
        (for_zsh, zsh(table, explained)),
        (for_fish, fish(table, explained)),
    ):
        with open(path, 'w') as f:
            f.write(text)


main()
