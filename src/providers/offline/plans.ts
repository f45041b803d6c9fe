import { shellWord } from '../../core/execution.ts'
import type { Intent } from './intent.ts'
import { failure, type Plan, type PlanFor, place, type Surroundings } from './plan.ts'
import { agentPlans } from './plans-agent.ts'
import { changePlans } from './plans-change.ts'
import { talkPlans } from './plans-talk.ts'
import { repair, testCommand } from './repair.ts'
import { brief, code, counted, denialIn, endOf, entriesIn, fenced, fileIn } from './results.ts'

type Plans = { readonly [Kind in Intent['kind']]: PlanFor<Kind> }

/** The plan for a request. */
export function planFor<I extends Intent>(intent: I, around: Surroundings): Plan {
  const plan = plans[intent.kind] as unknown as (intent: I, around: Surroundings) => Plan
  return plan(intent, around)
}

const plans: Plans = {
  ...talkPlans,
  ...changePlans,
  ...agentPlans,

  *list({ path }) {
    const deed = yield { say: `I will list ${place(path)}.`, job: { do: 'list', path } }
    if (deed.isError) return failure(deed, `list ${place(path)}`)
    const names = deed.text.startsWith('("') ? [] : entriesIn(deed)
    if (names.length === 0) return { says: `There is nothing in ${place(path)}.` }
    return {
      says: `There ${names.length === 1 ? 'is 1 entry' : `are ${names.length} entries`} in ${place(path)}: ${some(names, 12)}.`,
    }
  },

  *read({ path, lines, isExplained }) {
    const range = lines && { from: lines.from, count: lines.count }
    const deed = yield { say: `I will read ${code(path)}.`, job: { do: 'read', path, ...range } }
    if (deed.isError) return failure(deed, `read ${code(path)}`)
    const file = fileIn(deed)
    if (file.lines.length === 0) return { says: `${code(path)} is empty.` }
    const shown = file.lines.slice(0, lines ? 40 : 12)
    const size = lines
      ? `These are ${counted(shown.length, 'line')} of it`
      : `It has ${file.isPart ? 'at least ' : ''}${counted(file.lines.length, 'line')}`
    const rest = shown.length < file.lines.length ? ', and begins like this' : ''
    const honest = isExplained ? 'I cannot explain code or prose, only show it. ' : ''
    return { says: `${honest}${size}${rest}:\n\n${fenced(shown.map((line) => cut(line)).join('\n'))}` }
  },

  *search({ text, path }) {
    const deed = yield { say: `I will search ${place(path)} for ${code(text)}.`, job: { do: 'search', text, path } }
    const isNothing =
      deed.text.startsWith('No matches found') ||
      (endOf(deed).exitCode === 1 && endOf(deed).output.trim() === '') ||
      deed.text.startsWith('(no output)')
    if (isNothing) return { says: `${code(text)} is nowhere in ${place(path)}.` }
    if (deed.isError) return failure(deed, `search ${place(path)}`)
    const found = entriesIn(deed)
    return { says: `${code(text)} is on ${counted(found.length, 'line')}:\n\n${fenced(someLines(found, 8))}` }
  },

  *files({ pattern, path }) {
    const deed = yield {
      say: `I will look for files like ${code(pattern)} in ${place(path)}.`,
      job: { do: 'files', pattern, path },
    }
    if (deed.isError) return failure(deed, `look for files in ${place(path)}`)
    const found = deed.text.startsWith('No files found') || deed.text.startsWith('(no output)') ? [] : entriesIn(deed)
    if (found.length === 0) return { says: `No file in ${place(path)} is like ${code(pattern)}.` }
    return { says: `${counted(found.length, 'file')}: ${some(found, 12)}.` }
  },

  *run({ command }) {
    return yield* ran(command)
  },

  *test({ command }, around) {
    return yield* ran(command ?? (yield* testCommand(around)))
  },

  fix: repair,

  *count({ path }, around) {
    if (!around.can('run')) {
      const deed = yield { say: `I will read ${code(path)}.`, job: { do: 'read', path } }
      if (deed.isError) return failure(deed, `read ${code(path)}`)
      const { lines, isPart } = fileIn(deed)
      return { says: `${code(path)} has ${isPart ? 'at least ' : ''}${counted(lines.length, 'line')}.` }
    }
    const deed = yield {
      say: `I will count the lines of ${code(path)}.`,
      job: { do: 'run', command: `wc -l -- ${shellWord(path)}` },
    }
    const { exitCode, output } = endOf(deed)
    if (exitCode !== 0) return failure(deed, `count the lines of ${code(path)}`)
    return { says: `${code(path)} has ${counted(Number.parseInt(output, 10) || 0, 'line')}.` }
  },

  *changes({ isDiff }) {
    const command = isDiff ? 'git diff' : 'git status --short'
    const deed = yield { say: 'I will ask git.', job: { do: 'run', command } }
    const { exitCode, output } = endOf(deed)
    if (exitCode !== 0)
      return denialIn(deed)
        ? failure(deed, `run ${code(command)}`)
        : { says: `Git could not tell: ${brief(output, 200)}` }
    const lines = entriesIn({ text: output }).filter((line) => line !== '(no output)')
    if (lines.length === 0) return { says: 'Nothing has changed since the last commit.' }
    const what = isDiff
      ? 'The difference to what git knows'
      : `${counted(lines.length, 'file has', 'files have')} changed`
    return { says: `${what}:\n\n${fenced(someLines(lines, isDiff ? 60 : 20))}` }
  },

  *fetch({ url }) {
    const deed = yield { say: `I will fetch ${code(url)}.`, job: { do: 'fetch', url } }
    if (deed.isError) return failure(deed, `fetch ${code(url)}`)
    return { says: `It begins like this:\n\n${fenced(someLines(entriesIn(deed), 10))}` }
  },
}

function* ran(command: string): Plan {
  const deed = yield { say: `I will run ${code(command)}.`, job: { do: 'run', command } }
  const { exitCode, output } = endOf(deed)
  if (exitCode === undefined) return failure(deed, `run ${code(command)}`)
  const how = exitCode === 0 ? 'It worked' : `It ended with exit code ${exitCode}`
  const lines = output.trim() === '(no output)' ? [] : output.trimEnd().split('\n')
  if (output.trim() === '' || lines.length === 0) return { says: `${how} and printed nothing.` }
  const most = 15
  const which = lines.length > most ? `The last ${most} of ${lines.length} lines` : 'It printed'
  return {
    says: `${how}. ${which}:\n\n${fenced(
      lines
        .slice(-most)
        .map((line) => cut(line))
        .join('\n'),
    )}`,
  }
}

const cut = (line: string, most = 200): string => (line.length > most ? `${line.slice(0, most - 1)}…` : line)

function some(names: readonly string[], most: number): string {
  const shown = names
    .slice(0, most)
    .map((name) => code(name))
    .join(', ')
  return names.length > most ? `${shown} and ${names.length - most} more` : shown
}

function someLines(lines: readonly string[], most: number): string {
  const shown = lines
    .slice(0, most)
    .map((line) => cut(line))
    .join('\n')
  return lines.length > most ? `${shown}\n… and ${lines.length - most} more` : shown
}
