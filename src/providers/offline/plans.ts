import { shellWord } from '../../core/execution.ts'
import { cutText } from '../../core/text.ts'
import type { CallResult } from './conversation.ts'
import { failure, oneCall, type Plan, type PlanContext, type PlanFor } from './plan.ts'
import { repair, testCommand } from './repair.ts'
import type { Intent } from './requests.ts'
import { brief, code, counted, denialIn, endOf, entriesIn, fenced, fileIn } from './results.ts'
import { talkPlans } from './talk-plans.ts'

export function planFor<Kind extends Intent['kind']>(
  intent: Extract<Intent, { kind: Kind }>,
  context: PlanContext,
): Plan {
  const plan: PlanFor<Kind> = plans[intent.kind as Kind]
  return plan(intent, context)
}

const done = ({ text }: CallResult): string => `Done. ${brief(text, 200)}.`
const folderName = (path: string): string => (path === '.' ? 'this folder' : code(path))

const plans: { readonly [Kind in Intent['kind']]: PlanFor<Kind> } = {
  ...talkPlans,
  fix: repair,

  list: ({ path }) =>
    oneCall(
      { say: `I will list ${folderName(path)}.`, job: { do: 'list', path } },
      `list ${folderName(path)}`,
      (result) => {
        const names = result.text.startsWith('("') ? [] : entriesIn(result)
        if (names.length === 0) return `There is nothing in ${folderName(path)}.`
        const entries = names.length === 1 ? 'is 1 entry' : `are ${names.length} entries`
        return `There ${entries} in ${folderName(path)}: ${someNames(names)}.`
      },
    ),

  read: ({ path, lines, isExplained }) =>
    oneCall(
      { say: `I will read ${code(path)}.`, job: { do: 'read', path, ...lines } },
      `read ${code(path)}`,
      (result) => {
        const file = fileIn(result)
        if (file.lines.length === 0) return `${code(path)} is empty.`
        const shown = file.lines.slice(0, lines ? 40 : 12)
        const size = lines
          ? `These are ${counted(shown.length, 'line')} of it`
          : `It has ${file.isPart ? 'at least ' : ''}${counted(file.lines.length, 'line')}`
        const rest = shown.length < file.lines.length ? ', and begins like this' : ''
        const note = isExplained ? 'I cannot explain code or prose, only show it. ' : ''
        return `${note}${size}${rest}:\n\n${someLines(shown, 40)}`
      },
    ),

  *search({ text, path }) {
    const where = folderName(path)
    const result = yield { say: `I will search ${where} for ${code(text)}.`, job: { do: 'search', text, path } }
    const { exitCode, output } = endOf(result)
    const isNothing =
      /^(?:No matches found|\(no output\))/.test(result.text) || (exitCode === 1 && output.trim() === '')
    if (isNothing) return { says: `${code(text)} is nowhere in ${where}.` }
    if (result.isError) return failure(result, `search ${where}`)
    const found = entriesIn(result)
    return { says: `${code(text)} is on ${counted(found.length, 'line')}:\n\n${someLines(found, 8)}` }
  },

  files({ pattern, path }) {
    const where = folderName(path)
    const say = `I will look for files like ${code(pattern)} in ${where}.`
    return oneCall({ say, job: { do: 'files', pattern, path } }, `look for files in ${where}`, (result) => {
      const found = /^(?:No files found|\(no output\))/.test(result.text) ? [] : entriesIn(result)
      if (found.length === 0) return `No file in ${where} is like ${code(pattern)}.`
      return `${counted(found.length, 'file')}: ${someNames(found)}.`
    })
  },

  run: ({ command }) => runCommand(command),

  *test({ command }, context) {
    return yield* runCommand(command ?? (yield* testCommand(context)))
  },

  *count({ path }, { can }) {
    if (!can('run'))
      return yield* oneCall(
        { say: `I will read ${code(path)}.`, job: { do: 'read', path } },
        `read ${code(path)}`,
        (result) => {
          const { lines, isPart } = fileIn(result)
          return `${code(path)} has ${isPart ? 'at least ' : ''}${counted(lines.length, 'line')}.`
        },
      )
    const command = `wc -l -- ${shellWord(path)}`
    const result = yield { say: `I will count the lines of ${code(path)}.`, job: { do: 'run', command } }
    const { exitCode, output } = endOf(result)
    if (exitCode !== 0) return failure(result, `count the lines of ${code(path)}`)
    return { says: `${code(path)} has ${counted(Number.parseInt(output, 10) || 0, 'line')}.` }
  },

  *changes({ isDiff }) {
    const command = isDiff ? 'git diff' : 'git status --short'
    const result = yield { say: 'I will ask git.', job: { do: 'run', command } }
    const { exitCode, output } = endOf(result)
    if (exitCode !== 0 && denialIn(result)) return failure(result, `run ${code(command)}`)
    if (exitCode !== 0) return { says: `Git could not tell: ${brief(output, 200)}` }
    const lines = entriesIn({ text: output }).filter((line) => line !== '(no output)')
    if (lines.length === 0) return { says: 'Nothing has changed since the last commit.' }
    const files = `${counted(lines.length, 'file has', 'files have')} changed`
    return { says: `${isDiff ? 'The difference to what git knows' : files}:\n\n${someLines(lines, isDiff ? 60 : 20)}` }
  },

  fetch: ({ url }) =>
    oneCall(
      { say: `I will fetch ${code(url)}.`, job: { do: 'fetch', url } },
      `fetch ${code(url)}`,
      (result) => `It begins like this:\n\n${someLines(entriesIn(result), 10)}`,
    ),

  *replace({ from, to, path, isAll }) {
    const what = to === '' ? `take ${code(from)} out of` : `replace ${code(from)} with ${code(to)} in`
    const job = { do: 'replace', path, from, to, isAll } as const
    const result = yield { say: `I will ${what} ${code(path)}.`, job }
    if (!result.isError) return { says: done(result) }
    const end = failure(result, `change ${code(path)}`)
    const isSeveral = /replace_all|\b(?:several|times|occurrences)\b/.test(result.text) && !denialIn(result)
    const hint = `\nTo replace all of them say: replace all "${brief(from, 60)}" with …`
    return isSeveral ? { ...end, says: end.says + hint } : end
  },

  *create({ path, text }, { can }) {
    if (can('read')) {
      const before = yield { say: `I will see whether ${code(path)} is there already.`, job: { do: 'read', path } }
      if (denialIn(before)) return failure(before, `look at ${code(path)}`)
      if (!before.isError)
        return {
          says: `${code(path)} is there already, so I left it as it is. To change it say: append "…" to ${path}, or delete it first.`,
          isFailed: true,
        }
    }
    return yield* oneCall(
      { say: `I will write ${code(path)}.`, job: { do: 'write', path, text } },
      `write ${code(path)}`,
      done,
    )
  },

  *append({ path, text }) {
    const result = yield { say: `I will read ${code(path)} first.`, job: { do: 'read', path } }
    if (result.isError) return failure(result, `read ${code(path)}`)
    const { lines, isPart } = fileIn(result)
    const end = isPart ? undefined : uniqueEnd(lines)
    if (end === undefined)
      return {
        says: `I cannot find a place at the end of ${code(path)} that is like no other, so I left it as it is.`,
        isFailed: true,
      }
    const job = { do: 'replace', path, from: end, to: `${end}\n${text}` } as const
    return yield* oneCall({ say: 'I will add it behind the last line.', job }, `change ${code(path)}`, done)
  },
}

function* runCommand(command: string): Plan {
  const result = yield { say: `I will run ${code(command)}.`, job: { do: 'run', command } }
  const { exitCode, output } = endOf(result)
  if (exitCode === undefined) return failure(result, `run ${code(command)}`)
  const outcome = exitCode === 0 ? 'It worked' : `It ended with exit code ${exitCode}`
  if (['', '(no output)'].includes(output.trim())) return { says: `${outcome} and printed nothing.` }
  const lines = output.trimEnd().split('\n')
  const last = lines.slice(-15)
  const which = lines.length > last.length ? `The last ${last.length} of ${lines.length} lines` : 'It printed'
  return { says: `${outcome}. ${which}:\n\n${someLines(last, 15)}` }
}

/** The shortest end of a file, in whole lines, that occurs nowhere else in it. */
function uniqueEnd(lines: readonly string[]): string | undefined {
  const text = lines.join('\n')
  for (let count = 1; count <= Math.min(lines.length, 20); count++) {
    const end = lines.slice(-count).join('\n')
    if (end.trim() !== '' && text.indexOf(end) === text.length - end.length) return end
  }
  return undefined
}

function someNames(names: readonly string[]): string {
  const shown = names.slice(0, 12).map(code).join(', ')
  return names.length > 12 ? `${shown} and ${names.length - 12} more` : shown
}

function someLines(lines: readonly string[], max: number): string {
  const shown = lines.slice(0, max).map((line) => cutText(line, 200))
  return fenced([...shown, ...(lines.length > max ? [`… and ${lines.length - max} more`] : [])].join('\n'))
}
