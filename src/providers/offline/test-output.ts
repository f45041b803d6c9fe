import { resolvePosix } from '../../core/execution.ts'

/** What the output of a test run says about failures. */
export interface TestReport {
  /** Undefined where no known reporter counted them. */
  readonly failed?: number
  readonly passed?: number
  /** Files of the project that are named with a line, those of tests first; paths as short as they can be told. */
  readonly places: readonly Place[]
}

export interface Place {
  readonly path: string
  readonly line: number
}

/** Only the beginning and the end of a long output are read. */
const mostRead = 40_000
const mostPlaces = 30

/** Reads what node:test, Vitest, Jest, Mocha and others print. */
export function readTestOutput(output: string, folders: readonly string[] = []): TestReport {
  const text = output.length <= mostRead ? output : `${output.slice(0, mostRead / 2)}\n${output.slice(-mostRead / 2)}`
  const places = uniquePlaces(
    [...text.matchAll(placePattern)].map(([, path = '', line]) => ({ path, line: Number(line) })),
    folders,
  )
  const failed = countIn(text, failures)
  const passed = countIn(text, passes)
  return { ...(failed !== undefined && { failed }), ...(passed !== undefined && { passed }), places }
}

/** A path with an ending, and a line: `src/a.test.ts:12:3`, `file:///p/a.js:7`. */
const placePattern =
  /(?<![\w@.+/-])(?:file:\/\/)?((?:[\w@.+-]{0,100}\/){0,30}[\w@.+-]{1,100}\.(?:[cm]?[jt]sx?|py)):(\d{1,7})/g

const failures = [
  /^\s{0,20}(?:ℹ|#) fail (\d{1,6})\b/m,
  /\bTests?:?\s{1,9}(\d{1,6}) failed\b/,
  /\b(\d{1,6}) failing\b/,
  /\b(\d{1,6}) failed\b/,
]
const passes = [
  /^\s{0,20}(?:ℹ|#) pass (\d{1,6})\b/m,
  /\bTests?:?\s{1,9}(?:\d{1,6} failed\s{0,9}[|,]\s{0,9})?(\d{1,6}) passed\b/,
  /\b(\d{1,6}) passing\b/,
  /\b(\d{1,6}) passed\b/,
]

function countIn(text: string, patterns: readonly RegExp[]): number | undefined {
  for (const pattern of patterns) {
    const found = pattern.exec(text)
    if (found) return Number(found[1])
  }
  return undefined
}

function uniquePlaces(found: readonly Place[], folders: readonly string[]): Place[] {
  const own = found.filter(({ path }) => !path.includes('node_modules/'))
  const relative = own.map(({ path }) => path).filter((path) => !path.startsWith('/'))
  const roots = new Set([
    ...own.flatMap(({ path }) => rootOf(path, relative)),
    ...folders.map((folder) => `${folder}/`),
  ])
  const seen = new Set<string>()
  const places: Place[] = []
  for (const { path, line } of own) {
    const root = [...roots].find((one) => path.startsWith(one))
    const short = root === undefined ? path : path.slice(root.length)
    if (seen.has(`${short}:${line}`)) continue
    seen.add(`${short}:${line}`)
    places.push({ path: short, line })
    if (places.length >= mostPlaces) break
  }
  return places
}

/** A file that is named in full and by its end tells where the project is. */
function rootOf(path: string, relative: readonly string[]): string[] {
  if (!path.startsWith('/')) return []
  const end = relative.find((one) => path.endsWith(`/${one}`))
  return end === undefined ? [] : [path.slice(0, path.length - end.length)]
}

/** Whether a file holds tests, by its name. */
export function isTestFile(path: string): boolean {
  return /(?:^|[./_-])(?:test|tests|spec)\b/.test(path)
}

/** The files of the project that a file imports, as paths to try. */
export function importsOf(path: string, text: string): string[] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const found = [
    ...text.slice(0, mostRead).matchAll(/(?:from|import|require)\s{0,9}\(?\s{0,9}['"](\.{1,2}\/[^'"\n]{1,300})['"]/g),
  ]
  return [...new Set(found.map(([, specifier = '']) => joined(folder, specifier)))]
}

function joined(folder: string, specifier: string): string {
  if (folder.startsWith('/')) return resolvePosix(folder, specifier)
  return resolvePosix(`/${folder}`, specifier).slice(1)
}

/** A specifier may leave out the ending, or name what a compiler will make of the file. */
export function spellings(path: string): string[] {
  if (/\.[cm]?js$/.test(path)) return [path, path.replace(/js$/, 'ts')]
  if (/\.\w{1,4}$/.test(path)) return [path]
  return [`${path}.js`, `${path}.ts`, `${path}/index.js`]
}
