import type { Deed } from './conversation.ts'
import type { Mutation } from './mutations.ts'
import { type Ask, type Ending, failure, type PlanFor, type Surroundings } from './plan.ts'
import { brief, code, counted, denialIn, endOf, fenced } from './results.ts'
import { candidatesOf, type Source, sourcesOf } from './suspects.ts'
import { readTestOutput, type TestReport } from './test-output.ts'

const mostTries = 6

/**
 * Mends a failing test by trying: runs the tests, changes one token in the code that the failing test imports, runs them
 * again, and takes back what did not help.
 */
export const repair: PlanFor<'fix'> = function* ({ command: named }, around) {
  const command = named ?? (yield* testCommand(around))
  const first = yield { say: `I will run the tests: ${code(command)}.`, job: { do: 'run', command } }
  const before = endOf(first)
  if (before.exitCode === undefined) return failure(first, `run ${code(command)}`)
  if (before.exitCode === 0) return { says: 'The tests pass; there is nothing to fix.' }
  let report = readTestOutput(before.output, around.folders)
  const kept: string[] = []
  const tried = new Set<string>()
  let tries = 0
  for (;;) {
    const sources = yield* sourcesOf(report)
    if (!Array.isArray(sources)) return sources
    if (sources.length === 0)
      return {
        says: `The tests fail, but the output does not say in which file of this project:\n\n${fenced(tailOf(before.output))}`,
        isStuck: true,
      }
    let better: TestReport | undefined
    for (const { source, mutation } of candidatesOf(sources)) {
      const key = `${source.path}:${mutation.line}:${mutation.after}`
      if (tried.has(key) || tries >= mostTries) continue
      tried.add(key)
      tries++
      const change = `${code(mutation.from)} to ${code(mutation.to || '(nothing)')} in line ${mutation.line + 1} of ${code(source.path)}`
      const outcome = yield* tryOut(
        source,
        mutation,
        command,
        `Try ${tries} of at most ${mostTries}: I will change ${change}.`,
      )
      if ('says' in outcome) return outcome
      const { exitCode, output } = endOf(outcome)
      if (exitCode === 0) return { says: done([...kept, change], tries) }
      const after = readTestOutput(output, around.folders)
      if (isBetter(after, report)) {
        kept.push(change)
        better = after
        break
      }
      const undone = yield* undo(source, mutation)
      if (undone) return undone
    }
    if (!better) return { says: gaveUp(tries, kept), isStuck: true }
    report = better
  }
}

/** What runs the tests of this project. */
export function* testCommand({ can }: Surroundings): Generator<Ask, string, Deed> {
  if (!can('read')) return 'npm test'
  const deed = yield { say: 'I will see how this project runs its tests.', job: { do: 'read', path: 'package.json' } }
  return !deed.isError && /"test"\s{0,9}:\s{0,9}"/.test(deed.text) ? 'npm test' : 'node --test'
}

/** Changes a file and runs the tests: the result of the run, or why it came to nothing. */
function* tryOut(
  source: Source,
  mutation: Mutation,
  command: string,
  say: string,
): Generator<Ask, Deed | Ending, Deed> {
  const { from, to } = editOf(source, mutation)
  const edited = yield { say, job: { do: 'replace', path: source.path, from, to } }
  if (edited.isError) return failure(edited, `change ${code(source.path)}`)
  const deed = yield { say: 'I will run the tests again.', job: { do: 'run', command } }
  if (endOf(deed).exitCode !== undefined) return deed
  const undone = yield* undo(source, mutation)
  return (
    undone ?? {
      ...failure(deed, `run ${code(command)}`),
      says: `I could not run the tests again: ${brief(denialIn(deed) ?? deed.text, 200)}. I took my change back.`,
    }
  )
}

/** Takes a change back; an ending only where that failed. */
function* undo(source: Source, mutation: Mutation): Generator<Ask, Ending | undefined, Deed> {
  const { from, to } = editOf(source, mutation)
  const deed = yield {
    say: 'That did not help, so I will take it back.',
    job: { do: 'replace', path: source.path, from: to, to: from },
  }
  if (!deed.isError) return undefined
  return {
    says: `I could not take my change of line ${mutation.line + 1} in ${code(source.path)} back: ${brief(denialIn(deed) ?? deed.text, 200)}. It was ${code(mutation.before.trim())}.`,
    isStuck: true,
  }
}

/** The line, with as many lines around it as make both texts the only ones of their kind. */
function editOf({ lines }: Source, { line, before, after }: Mutation): { from: string; to: string } {
  const text = `\n${lines.join('\n')}\n`
  for (let around = 0; ; around++) {
    const above = lines.slice(Math.max(0, line - around), line)
    const below = lines.slice(line + 1, line + 1 + around)
    const from = [...above, before, ...below].join('\n')
    const to = [...above, after, ...below].join('\n')
    const isUnique = countOf(text, from) === 1 && countOf(text, to) === 0
    if (isUnique || around >= lines.length) return { from, to }
  }
}

function countOf(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at >= 0 && count < 2; at = text.indexOf(part, at + 1)) count++
  return count
}

/** Fewer failures alone may only mean that a file could not be loaded at all. */
const isBetter = (after: TestReport, before: TestReport): boolean =>
  (after.failed ?? Number.POSITIVE_INFINITY) < (before.failed ?? 0) &&
  (after.passed ?? 0) > (before.passed ?? Number.POSITIVE_INFINITY)

const tailOf = (output: string): string => output.trimEnd().split('\n').slice(-10).join('\n').slice(-1500)

function done(changes: readonly string[], tries: number): string {
  return `The tests pass now. I changed ${changes.join(', and ')} (${counted(tries, 'try', 'tries')}).`
}

function gaveUp(tries: number, kept: readonly string[]): string {
  const left =
    kept.length === 0 ? 'The files are as they were.' : `I kept what mended some of the tests: ${kept.join(', and ')}.`
  if (tries === 0)
    return 'The tests fail, and I see nothing that a change of one token could mend; more than that I cannot do without a language model. I changed nothing.'
  return `The tests still fail. I tried ${counted(tries, 'small change')} of one token each and none of them helped; more than that I cannot do without a language model. ${left}`
}
