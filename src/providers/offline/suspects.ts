import type { Deed } from './conversation.ts'
import { linesOfFunctions, type Mutation, mutationsOf } from './mutations.ts'
import { type Ask, type Ending, failure } from './plan.ts'
import { code, denialIn, fileIn } from './results.ts'
import { importsOf, isTestFile, spellings, type TestReport } from './test-output.ts'

/** A file in which the fault may be. */
export interface Source {
  readonly path: string
  readonly lines: readonly string[]
  /** Lines that have to do with the failure, from 0. */
  readonly near: ReadonlySet<number>
}

const mostSources = 3

/** The files that the failing tests are about: those on the way to the failure, then those that the tests import. */
export function* sourcesOf({ places }: TestReport): Generator<Ask, Source[] | Ending, Deed> {
  const testPlaces = places.filter(({ path }) => isTestFile(path))
  const test = testPlaces[0]?.path
  const wanted = places.filter(({ path }) => !isTestFile(path)).map(({ path }) => [path])
  let names = new Set<string>()
  if (test !== undefined) {
    const deed = yield { say: `${code(test)} fails. I will read it.`, job: { do: 'read', path: test } }
    if (denialIn(deed)) return failure(deed, `read ${code(test)}`)
    const { lines } = fileIn(deed)
    if (!deed.isError) wanted.push(...importsOf(test, lines.join('\n')).map(spellings))
    names = namesNear(
      lines,
      testPlaces.filter(({ path }) => path === test).map(({ line }) => line - 1),
    )
  }
  const sources: Source[] = []
  for (const candidates of wanted) {
    if (sources.length >= mostSources) break
    for (const path of candidates) {
      if (sources.some((source) => source.path === path)) break
      const deed = yield { say: `I will read ${code(path)}, which it uses.`, job: { do: 'read', path } }
      if (denialIn(deed)) return failure(deed, `read ${code(path)}`)
      const { lines, isPart } = fileIn(deed)
      if (deed.isError || isPart) continue
      const near = linesOfFunctions(lines, names)
      for (const one of places) if (one.path === path) near.add(one.line - 1)
      sources.push({ path, lines, near })
      break
    }
  }
  return sources
}

/** What is called around the failing lines of a test. */
function namesNear(lines: readonly string[], failing: readonly number[]): Set<string> {
  const around = failing.flatMap((line) => lines.slice(Math.max(0, line - 2), line + 1))
  return new Set(
    around.flatMap((line) => [...line.slice(0, 400).matchAll(/([\w$]{1,100})\(/g)].map(([, name = '']) => name)),
  )
}

/** What may be tried in them, the likeliest first. */
export function candidatesOf(sources: readonly Source[]): { source: Source; mutation: Mutation }[] {
  const all = sources.map((source) => ({ source, mutations: mutationsOf(source.lines, source.near) }))
  const isNear = ({ near }: Source, { line }: Mutation): boolean => near.has(line)
  const flat = all.flatMap(({ source, mutations }) => mutations.map((mutation) => ({ source, mutation })))
  return [
    ...flat.filter(({ source, mutation }) => isNear(source, mutation)),
    ...flat.filter(({ source, mutation }) => !isNear(source, mutation)),
  ]
}
