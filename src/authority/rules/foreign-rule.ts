import { programNamed } from '../../shell/tables/programs.ts'

/** Our form of a rule in the form of another program, such as `Bash(ls:*)`; undefined if it is none. */
export function ownFormOf(rule: string): string | undefined {
  const server = /^mcp__(.+?)(?:__(.*))?$/.exec(rule)
  if (server) return `mcp:${server[1]}.${server[2] || '*'}`
  const call = /^(\w+)\((.*)\)$/s.exec(rule)
  if (!call) return undefined
  const [, tool = '', about = ''] = call
  const form = forms.find(({ names }) => names.test(tool))
  if (!form) return about.trim() === '' ? tool : `${tool}:${about}`
  const pattern = form.patternOf(about.trim())
  return pattern === '' ? form.name : `${form.name}:${pattern}`
}

interface Form {
  /** The names of the tool elsewhere. */
  readonly names: RegExp
  readonly name: string
  /** Empty: for all. */
  patternOf(about: string): string
}

const forms: readonly Form[] = [
  { names: /^(bash|shell|run_shell_command)$/i, name: 'shell', patternOf: commandPattern },
  { names: /^(read|glob|grep|ls|notebookread|read_file)$/i, name: 'fs.read', patternOf: pathPattern },
  { names: /^(edit|write|multiedit|notebookedit|write_file)$/i, name: 'fs.write', patternOf: pathPattern },
  { names: /^(webfetch|websearch|web_fetch)$/i, name: 'net', patternOf: (about) => about.replace(/^domain:/, '') },
  { names: /^(task|agent|spawn)$/i, name: 'spawn', patternOf: (about) => about },
]

/** `git log:*` is `git log` with any arguments: where a table knows the harmless ones, no star is needed. */
function commandPattern(about: string): string {
  const command = about.replace(/(?::\*| \*)$/, '')
  if (command === '' || command === '*') return ''
  const [program = ''] = command.split(' ', 1)
  return command === about || programNamed(program).reads !== undefined ? command : `${command} *`
}

/** Our star includes slashes. There, `/src` is in the project and `//etc` in the root of the disk. */
function pathPattern(about: string): string {
  const path = about.startsWith('//') ? about.slice(1) : about.replace(/^(?:\.?\/)+/, '')
  const pattern = path.replace(/^\*\*\//, '*').replaceAll('**', '*')
  return pattern === '*' ? '' : pattern
}
