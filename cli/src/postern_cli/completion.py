"""postern completion: completion of `postern` in bash.

Written here because shtab, which generates such scripts, would add 1,551 lines under another licence to the one file,
its script has 270 lines instead of these 35, and each argument that takes a file would have to be marked for it."""

from __future__ import annotations

import argparse
from typing import Any, List

from postern_cli.failure import DONE
from postern_cli.subparsers import subparsers

SCRIPT = """# bash completion for postern, made by `postern completion`
_postern() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case ${{COMP_WORDS[at]}} in
      {commands}) command=${{COMP_WORDS[at]}}; break ;;
    esac
  done
  case $before in
    --defaults-file|--ssl-ca|--tables|--picture|-S|--socket|--option-files) COMPREPLY=($(compgen -f -- "$word")); return ;;
{choices}
  esac
  case $command in
    "") COMPREPLY=($(compgen -W "{words} --help --version" -- "$word")) ;;
{cases}
  esac
}}
complete -o default -F _postern postern
"""


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "completion",
        help="print the completion of commands and options for bash",
        description="Prints a script for bash.",
    )
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    print(script(options.whole), end="")
    return DONE


def script(parser: argparse.ArgumentParser) -> str:
    """The script, generated from the parser."""
    commands = subparsers(parser)
    cases, choices = [], {}
    for name, command in commands.items():
        options = []
        for action in command._actions:
            options += [text for text in action.option_strings if text.startswith("--")]
            if action.choices and action.option_strings:
                choices[action.option_strings[-1]] = " ".join(map(str, action.choices))
        files = ' COMPREPLY+=($(compgen -f -- "$word"))' if name == "advise" else ""
        cases.append(f'    {name}) COMPREPLY=($(compgen -W "{" ".join(options)}" -- "$word"));{files} ;;')
    chosen = [
        f'    {option}) COMPREPLY=($(compgen -W "{values}" -- "$word")); return ;;'
        for option, values in choices.items()
    ]
    return SCRIPT.format(
        commands="|".join(commands), words=" ".join(commands), cases="\n".join(cases), choices="\n".join(chosen)
    )
