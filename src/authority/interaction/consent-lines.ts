import type { ToolOrigin } from '../../core/authority.ts'
import { shellQuote } from '../../core/execution.ts'
import { longestSecret } from '../../platform/redact.ts'
import type { ReadRedirect } from '../../shell/reading.ts'
import type { CommandFacts, EffectFact, JudgedCall, ShellFacts } from '../judged-call.ts'

/** Makes a text safe to show, on one line or with its line breaks kept. */
type Show = (text: string, lines?: 'kept' | 'shown') => string

/** Every argument in full. A text of several lines gets a margin that it cannot break out of. */
export function argumentLines(
  input: JudgedCall['input'],
  show: Show,
): { readonly lines: string[]; readonly length: number; readonly hasPadding: boolean } {
  const values = Object.entries(input).map(([name, value]) => [name, textOf(value)] as const)
  const length = values.reduce((sum, [, text]) => sum + text.length, 0)
  const lines = values.flatMap(([name, text]) => valueLines(show(name), text, show))
  const hasPadding = values.some(([, text]) => /[ \t]{40}|(?:\n[ \t]{0,40}){4}/.test(text.trimEnd()))
  if (values.length === 0) return { lines: ['arguments: none'], length, hasPadding }
  return { lines: [`arguments (${length} characters, all shown):`, ...lines], length, hasPadding }
}

/** The parsed commands of a line with their effects, and what could not be parsed. The arguments show the line itself. */
export function commandLines({ isWhole, obstacles, commands, words }: ShellFacts, show: Show): string[] {
  const lines = commands.slice(0, mostCommands).flatMap((command, i) => commandBlock(i + 1, command, show))
  const left = commands.length - mostCommands
  const more = words.length > mostWords ? ` and ${words.length - mostWords} more words` : ''
  const unread = isWhole
    ? []
    : [
        'cannot be inspected: the line as a whole',
        `may run: ${show(words.slice(0, mostWords).join(' ')) || 'anything'}${more}`,
      ]
  return [
    ...(commands.length > 0 ? [`runs ${commands.length === 1 ? 'a command' : `${commands.length} commands`}:`] : []),
    ...lines,
    ...(left > 0 ? [`  … and ${left} more, see the arguments`] : []),
    ...unread,
    ...obstacles.map((obstacle) => `cannot be inspected: ${show(obstacle)}`),
  ]
}

/** Bounds on what is drawn: more would not be read, and drawing blocks the event loop. */
const mostCommands = 50
const mostWords = 500
const longestCommand = 4000

/** The declared effects of a call. */
export function effectsLine(effects: readonly EffectFact[], show: Show): string {
  const texts = effects.map(({ effect, target, isOutside }) => {
    const what = target === undefined ? effect : `${effect} ${target}`
    return show(isOutside ? `${what} (outside the workspace)` : what)
  })
  return `does: ${[...new Set(texts)].join('; ') || 'nothing that it says'}`
}

/** The origin of a tool, in words. */
export function originText({ layer, path, digest, replaces = [] }: ToolOrigin): string {
  const where = path === undefined ? '' : ` ${path}`
  const taken = replaces.map((other) => `, in place of the one ${layers[other]}`).join('')
  return `${layers[layer]}${where}${digest === undefined ? '' : `, digest ${digest.slice(0, 16)}`}${taken}`
}

/** States that a tool's definition changed, and quotes its current description behind a margin. */
export function changeLines(
  { origin, changedDescription: says = '' }: Pick<JudgedCall, 'origin' | 'changedDescription'>,
  show: Show,
): string[] {
  if (origin.isChanged !== true) return []
  const who = origin.layer === 'mcp' ? 'the server changed what this tool says about itself' : 'this tool was changed'
  const left = says.length - mostSaid
  return [
    `CHANGED: ${who} since it was accepted`,
    says === '' ? 'it says nothing about itself now' : 'it says about itself now, unchecked:',
    ...(says === '' ? [] : withoutGaps(start(says, mostSaid, show, 'kept').split('\n'))),
    ...(left > 0 ? [`    … and ${left} more characters`] : []),
  ]
}

const mostSaid = 2000

/** The name of a program without its folders. */
export const programName = (program: string): string => program.slice(program.lastIndexOf('/') + 1)

const layers: Readonly<Record<ToolOrigin['layer'], string>> = {
  host: 'of the program itself',
  bundled: 'bundled',
  global: 'of the user',
  project: 'of the project',
  mcp: 'of the MCP server',
  plugin: 'of the plugin',
}

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  const json = JSON.stringify(value) ?? String(value)
  return json.length <= 100 ? json : JSON.stringify(value, null, 2)
}

function valueLines(name: string, text: string, show: Show): string[] {
  if (!text.includes('\n')) return [`  ${name}: ${show(text)}`]
  const lines = show(text, 'kept').split('\n')
  return [`  ${name} (${lines.length} lines):`, ...withoutGaps(lines)]
}

/** Replaces many empty lines by their count, so that they cannot push text out of sight. */
function withoutGaps(lines: readonly string[]): string[] {
  const shown: string[] = []
  for (let i = 0; i < lines.length; ) {
    const from = i
    while (i < lines.length && lines[i]!.trim() === '') i++
    if (i - from >= 4) shown.push(`    ⋮ ${i - from} empty lines`)
    else for (const line of lines.slice(from, i)) shown.push(`    │ ${line}`)
    if (i < lines.length) shown.push(`    │ ${lines[i++]}`)
  }
  return shown
}

function commandBlock(number: number, facts: CommandFacts, show: Show): string[] {
  const { words, globs, env, redirects, cwd, via, isNested } = facts.command
  const argv = words.map((word, i) => (globs.includes(i) ? word : quoted(word))).join(' ')
  const sets = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`)
  const more = [
    ...(cwd === '.' ? [] : [`in: ${cwd === undefined ? 'a folder that cannot be known' : cwd}`]),
    ...(via.length > 0 ? [`through: ${via.map(quoted).join(', ')}`] : []),
    ...sets.map((set) => `sets: ${set}`),
    ...redirects.map((redirect) => `redirects: ${redirectText(redirect)}`),
    ...(globs.length > 0 ? ['names files by a pattern, which the shell fills in'] : []),
    ...(isNested ? ['stands where it may run several times, or never'] : []),
    ...(facts.why === undefined ? [] : [`mind: ${facts.why}`]),
  ]
  return [
    `  ${number}. ${start(argv, longestCommand, show) || '(no command)'}${argv.length > longestCommand ? ' … (see the arguments)' : ''}`,
    ...more.map((line) => `     ${show(line)}`),
    `     ${effectsLine(facts.effects, show)}`,
  ]
}

/** The beginning of a text. It is shown first and cut then: a cut before would split a secret, which is then not masked. */
function start(text: string, most: number, show: Show, lines?: 'kept'): string {
  return show(text.slice(0, most + longestSecret), lines).slice(0, most)
}

/** Shows where a word begins and ends. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word))

function redirectText({ operator, descriptor, target }: ReadRedirect): string {
  const to = target === undefined ? 'something that is not a file, or cannot be known' : quoted(target)
  return `${descriptor ?? ''}${operator} ${to}`
}
