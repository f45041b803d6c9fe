import { resolvePosix } from '../../core/execution.ts'

/** The failures in the output of a test run. */
export interface TestReport {
  /** Undefined if no known reporter counted them. */
  readonly failed?: number
  readonly passed?: number
  /** Positions in files of the project, with paths relative to it where possible. */
  readonly positions: readonly CodePosition[]
}

interface CodePosition {
  readonly path: string
  readonly line: number
}

/** Of a longer output only the beginning and the end are read. */
const maxReadLength = 40_000
const maxPositions = 30

/** Reads what node:test, Vitest, Jest, Mocha and others print. */
export function readTestOutput(output: string, folders: readonly string[] = []): TestReport {
  const text =
    output.length <= maxReadLength
      ? output
      : `${output.slice(0, maxReadLength / 2)}\n${output.slice(-maxReadLength / 2)}`
  const positions = uniquePositions(
    [...text.matchAll(positionPattern)].map(([, path = '', line]) => ({ path, line: Number(line) })),
    folders,
  )
  const failed = countIn(text, failures)
  const passed = countIn(text, passes)
  return { ...(failed !== undefined && { failed }), ...(passed !== undefined && { passed }), positions }
}

/** A path with an ending, and a line: `src/a.test.ts:12:3`, `file:///p/a.js:7`. */
const positionPattern =
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

function uniquePositions(found: readonly CodePosition[], folders: readonly string[]): CodePosition[] {
  const own = found.filter(({ path }) => !path.includes('node_modules/'))
  const relative = own.map(({ path }) => path).filter((path) => !path.startsWith('/'))
  const roots = new Set([
    ...own.flatMap(({ path }) => rootOf(path, relative)),
    ...folders.map((folder) => `${folder}/`),
  ])
  const seen = new Set<string>()
  const positions: CodePosition[] = []
  for (const { path, line } of own) {
    const root = [...roots].find((one) => path.startsWith(one))
    const short = root === undefined ? path : path.slice(root.length)
    if (seen.has(`${short}:${line}`)) continue
    seen.add(`${short}:${line}`)
    positions.push({ path: short, line })
    if (positions.length >= maxPositions) break
  }
  return positions
}

/** The folder of the project, if a file is named both by its absolute and its relative path. */
function rootOf(path: string, relative: readonly string[]): string[] {
  if (!path.startsWith('/')) return []
  const end = relative.find((one) => path.endsWith(`/${one}`))
  return end === undefined ? [] : [path.slice(0, path.length - end.length)]
}

/** Whether a file holds tests, by its name. */
export function isTestFile(path: string): boolean {
  return /(?:^|[./_-])(?:test|tests|spec)\b/.test(path)
}

/** The relative imports of a file, as paths of the project. */
export function importsOf(path: string, text: string): string[] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const found = [
    ...text
      .slice(0, maxReadLength)
      .matchAll(/(?:from|import|require)\s{0,9}\(?\s{0,9}['"](\.{1,2}\/[^'"\n]{1,300})['"]/g),
  ]
  return [...new Set(found.map(([, specifier = '']) => joined(folder, specifier)))]
}

function joined(folder: string, specifier: string): string {
  if (folder.startsWith('/')) return resolvePosix(folder, specifier)
  return resolvePosix(`/${folder}`, specifier).slice(1)
}

/** The files that an import may mean: it may omit the extension, or name the compiled file. */
export function pathsFor(path: string): string[] {
  if (/\.[cm]?js$/.test(path)) return [path, path.replace(/js$/, 'ts')]
  if (/\.\w{1,4}$/.test(path)) return [path]
  return [`${path}.js`, `${path}.ts`, `${path}/index.js`]
}
