import type { ToolOrigin } from '../../core/authority.ts'
import { shellQuote } from '../../core/execution.ts'
import type { CommandFacts, EffectFact, JudgedCall, ShellFacts } from '../judged-call.ts'
import type { ReadRedirect } from '../shell/reading.ts'

/** Makes a text fit to be shown on one line, or on its own lines. */
type Show = (text: string, lines?: 'kept' | 'shown') => string

/** Every argument whole, on a line of its own or, with a margin that no text can leave, on as many as it has. */
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

/** What a line was read as: each command with what it does, and what nobody can tell. The line itself stands below, whole. */
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

/** Nobody reads more of them, and to draw them takes time that nobody else has meanwhile. */
const mostCommands = 50
const mostWords = 500
const longestCommand = 4000

/** What a call does, by its declarations. */
export function effectsLine(effects: readonly EffectFact[], show: Show): string {
  const texts = effects.map(({ effect, target, isOutside }) => {
    const what = target === undefined ? effect : `${effect} ${target}`
    return show(isOutside ? `${what} (outside the workspace)` : what)
  })
  return `does: ${[...new Set(texts)].join('; ') || 'nothing that it says'}`
}

/** Where a tool comes from, in words. */
export function originText({ layer, path, digest, replaces = [] }: ToolOrigin): string {
  const where = path === undefined ? '' : ` ${path}`
  const taken = replaces.map((other) => `, in place of the one ${layers[other]}`).join('')
  return `${layers[layer]}${where}${digest === undefined ? '' : `, digest ${digest.slice(0, 16)}`}${taken}`
}

/** That a tool is not what was accepted, and what it says about itself now, in its own words behind a margin. */
export function changeLines(
  { origin, changedDescription: says = '' }: Pick<JudgedCall, 'origin' | 'changedDescription'>,
  show: Show,
): string[] {
  if (origin.isChanged !== true) return []
  const who = origin.layer === 'mcp' ? 'the server changed what this tool says about itself' : 'this tool was changed'
  const left = says.length - mostSaid
  return [
    `CHANGED: ${who} since it was accepted`,
    says === '' ? 'it says nothing about itself now' : 'it says about itself now, which nobody has checked:',
    ...(says === '' ? [] : withoutGaps(show(says.slice(0, mostSaid), 'kept').split('\n'))),
    ...(left > 0 ? [`    … and ${left} more characters`] : []),
  ]
}

const mostSaid = 2000

/** The name of a program without its folders. */
export const ending = (program: string): string => program.slice(program.lastIndexOf('/') + 1)

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

/** Empty lines are counted where there are many: they must not push anything out of sight. */
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
    `  ${number}. ${show(argv.slice(0, longestCommand)) || '(no command)'}${argv.length > longestCommand ? ' … (see the arguments)' : ''}`,
    ...more.map((line) => `     ${show(line)}`),
    `     ${effectsLine(facts.effects, show)}`,
  ]
}

/** So that one sees where a word begins and ends. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word))

function redirectText({ operator, descriptor, target }: ReadRedirect): string {
  const to = target === undefined ? 'something that is not a file, or cannot be known' : quoted(target)
  return `${descriptor ?? ''}${operator} ${to}`
}
