import type { CallResult } from './conversation.ts'
import { linesOfFunctions, type Mutation, mutationsOf } from './mutations.ts'
import { failure, type PlanContext, type PlanEnd, type PlanFor, type PlanStep } from './plan.ts'
import { brief, code, counted, denialIn, endOf, fenced, fileIn } from './results.ts'
import { importsOf, isTestFile, pathsFor, readTestOutput, type TestReport } from './test-output.ts'

const maxTries = 6

/**
 * Repairs a failing test by trial: runs the tests, changes one token in the code that the failing test imports, runs them
 * again, and undoes a change that did not help.
 */
export const repair: PlanFor<'fix'> = function* ({ command: named }, context) {
  const command = named ?? (yield* testCommand(context))
  const first = yield { say: `I will run the tests: ${code(command)}.`, job: { do: 'run', command } }
  const before = endOf(first)
  if (before.exitCode === undefined) return failure(first, `run ${code(command)}`)
  if (before.exitCode === 0) return { says: 'The tests pass; there is nothing to fix.' }
  let report = readTestOutput(before.output, context.folders)
  const kept: string[] = []
  const tried = new Set<string>()
  let tries = 0
  for (;;) {
    const sources = yield* sourcesOf(report)
    if (!Array.isArray(sources)) return sources
    if (sources.length === 0)
      return {
        says: `The tests fail, but the output does not say in which file of this project:\n\n${fenced(tailOf(before.output))}`,
        isFailed: true,
      }
    let better: TestReport | undefined
    for (const { source, mutation } of candidatesOf(sources)) {
      const key = `${source.path}:${mutation.line}:${mutation.after}`
      if (tried.has(key) || tries >= maxTries) continue
      tried.add(key)
      tries++
      const change = `${code(mutation.from)} to ${code(mutation.to || '(nothing)')} in line ${mutation.line + 1} of ${code(source.path)}`
      const outcome = yield* tryOut(
        source,
        mutation,
        command,
        `Try ${tries} of at most ${maxTries}: I will change ${change}.`,
      )
      if ('says' in outcome) return outcome
      const { exitCode, output } = endOf(outcome)
      if (exitCode === 0) return { says: done([...kept, change], tries) }
      const after = readTestOutput(output, context.folders)
      if (isBetter(after, report)) {
        kept.push(change)
        better = after
        break
      }
      const undone = yield* undo(source, mutation)
      if (undone) return undone
    }
    if (!better) return { says: gaveUp(tries, kept), isFailed: true }
    report = better
  }
}

/** The command that runs the tests of this project. */
export function* testCommand({ can }: PlanContext): Generator<PlanStep, string, CallResult> {
  if (!can('read')) return 'npm test'
  const result = yield { say: 'I will see how this project runs its tests.', job: { do: 'read', path: 'package.json' } }
  return !result.isError && /"test"\s{0,9}:\s{0,9}"/.test(result.text) ? 'npm test' : 'node --test'
}

/** Changes a file and runs the tests. Returns the result of the run, or the end of the request if one of them failed. */
function* tryOut(
  source: Source,
  mutation: Mutation,
  command: string,
  say: string,
): Generator<PlanStep, CallResult | PlanEnd, CallResult> {
  const { from, to } = editOf(source, mutation)
  const edited = yield { say, job: { do: 'replace', path: source.path, from, to } }
  if (edited.isError) return failure(edited, `change ${code(source.path)}`)
  const result = yield { say: 'I will run the tests again.', job: { do: 'run', command } }
  if (endOf(result).exitCode !== undefined) return result
  const undone = yield* undo(source, mutation)
  return (
    undone ?? {
      ...failure(result, `run ${code(command)}`),
      says: `I could not run the tests again: ${brief(denialIn(result) ?? result.text, 200)}. I took my change back.`,
    }
  )
}

/** Undoes a change. Returns the end of the request if that failed. */
function* undo(source: Source, mutation: Mutation): Generator<PlanStep, PlanEnd | undefined, CallResult> {
  const { from, to } = editOf(source, mutation)
  const result = yield {
    say: 'That did not help, so I will take it back.',
    job: { do: 'replace', path: source.path, from: to, to: from },
  }
  if (!result.isError) return undefined
  return {
    says: `I could not take my change of line ${mutation.line + 1} in ${code(source.path)} back: ${brief(denialIn(result) ?? result.text, 200)}. It was ${code(mutation.before.trim())}.`,
    isFailed: true,
  }
}

/** The line, with as many lines around it as are needed to make both texts unique in the file. */
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

/** Fewer failures alone may mean that a file could not be loaded. */
const isBetter = (after: TestReport, before: TestReport): boolean =>
  (after.failed ?? Number.POSITIVE_INFINITY) < (before.failed ?? 0) &&
  (after.passed ?? 0) > (before.passed ?? Number.POSITIVE_INFINITY)

const tailOf = (output: string): string => output.trimEnd().split('\n').slice(-10).join('\n').slice(-1500)

function done(changes: readonly string[], tries: number): string {
  return `The tests pass now. I changed ${changes.join(', and ')} (${counted(tries, 'try', 'tries')}).`
}

function gaveUp(tries: number, kept: readonly string[]): string {
  const left =
    kept.length === 0 ? 'The files are as they were.' : `I kept what fixed some of the tests: ${kept.join(', and ')}.`
  if (tries === 0)
    return 'The tests fail, and I see nothing that a change of one token could fix; more than that I cannot do without a language model. I changed nothing.'
  return `The tests still fail. I tried ${counted(tries, 'small change')} of one token each and none of them helped; more than that I cannot do without a language model. ${left}`
}

/** A file that may contain the error. */
interface Source {
  readonly path: string
  readonly lines: readonly string[]
  /** Lines close to the failure, from 0. */
  readonly near: ReadonlySet<number>
}

const maxSources = 3

/** The files that the failing tests use: those in the stack traces, then those that the tests import. */
function* sourcesOf({ positions }: TestReport): Generator<PlanStep, Source[] | PlanEnd, CallResult> {
  const testPositions = positions.filter(({ path }) => isTestFile(path))
  const test = testPositions[0]?.path
  const wanted = positions.filter(({ path }) => !isTestFile(path)).map(({ path }) => [path])
  let names = new Set<string>()
  if (test !== undefined) {
    const result = yield { say: `${code(test)} fails. I will read it.`, job: { do: 'read', path: test } }
    if (denialIn(result)) return failure(result, `read ${code(test)}`)
    const { lines } = fileIn(result)
    if (!result.isError) wanted.push(...importsOf(test, lines.join('\n')).map(pathsFor))
    names = namesNear(
      lines,
      testPositions.filter(({ path }) => path === test).map(({ line }) => line - 1),
    )
  }
  const sources: Source[] = []
  for (const candidates of wanted) {
    if (sources.length >= maxSources) break
    for (const path of candidates) {
      if (sources.some((source) => source.path === path)) break
      const result = yield { say: `I will read ${code(path)}, which it uses.`, job: { do: 'read', path } }
      if (denialIn(result)) return failure(result, `read ${code(path)}`)
      const { lines, isPart } = fileIn(result)
      if (result.isError || isPart) continue
      const near = linesOfFunctions(lines, names)
      for (const one of positions) if (one.path === path) near.add(one.line - 1)
      sources.push({ path, lines, near })
      break
    }
  }
  return sources
}

/** The functions that are called near the failing lines of a test. */
function namesNear(lines: readonly string[], failing: readonly number[]): Set<string> {
  const around = failing.flatMap((line) => lines.slice(Math.max(0, line - 2), line + 1))
  return new Set(
    around.flatMap((line) => [...line.slice(0, 400).matchAll(/([\w$]{1,100})\(/g)].map(([, name = '']) => name)),
  )
}

/** The changes to try, the likeliest first. */
function candidatesOf(sources: readonly Source[]): { source: Source; mutation: Mutation }[] {
  const all = sources.map((source) => ({ source, mutations: mutationsOf(source.lines, source.near) }))
  const isNear = ({ near }: Source, { line }: Mutation): boolean => near.has(line)
  const flat = all.flatMap(({ source, mutations }) => mutations.map((mutation) => ({ source, mutation })))
  return [
    ...flat.filter(({ source, mutation }) => isNear(source, mutation)),
    ...flat.filter(({ source, mutation }) => !isNear(source, mutation)),
  ]
}
