import { readSmallText } from '../../platform/read-small-text.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { ConfigError, checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { jsonProblem } from './json-problem.ts'

/** One `config.json`, checked; undefined when there is none. */
export async function readConfig(path: string, options: ReadingOptions): Promise<Config | undefined> {
  const text = await readText(path, options)
  return text === undefined ? undefined : parseConfig(text, path)
}

/** The same before it is checked. */
export async function readJson(path: string, options: ReadingOptions): Promise<unknown> {
  const text = await readText(path, options)
  return text === undefined ? undefined : parseJson(text, path)
}

/** How a file is opened. */
interface ReadingOptions {
  /** The user may link his file to where he likes; a project's link would show us files that nobody trusted. */
  readonly links: 'followed' | 'refused'
}

function readText(path: string, { links }: ReadingOptions): Promise<string | undefined> {
  const refuse = (code: string): ConfigError =>
    new ConfigError(
      `Cannot read ${fullyVisible(path)}: ${problems[code] ?? `the system says ${code}; check it, or move it away`}`,
    )
  return readSmallText(path, { mostBytes: 1024 * 1024, links, refuse })
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'you have no permission; `chmod u+r` it, or see with `ls -ld` whose it and its folder are',
  EPERM: 'you have no permission; `chmod u+r` it, or see whose it is with `ls -l`',
  EISDIR: 'it is a folder; remove it, or put the file in its place',
  ELOOP: 'it is a link; put the file itself there',
  EFTYPE: 'it is no regular file; put one there, or remove it',
  EFBIG: 'it is larger than 1 MiB; shorten it',
  EILSEQ: 'it is not UTF-8; save it as that',
}

/** The text of a `config.json` as what it says, without `$schema`, which is for editors. */
export function parseConfig(text: string, path: string): Config {
  const value = parseJson(text, path)
  checkConfig(value, path)
  const { $schema: _, ...config } = value as Config & { $schema?: string }
  return config
}

/** JSON, or a sentence with the line and column where it stops being that. */
export function parseJson(text: string, path: string): unknown {
  const value = jsonIn(text, path)
  if (isDeep(value)) throw new ConfigError(`${fullyVisible(path)} is nested too deeply; no setting is`)
  return value
}

function jsonIn(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new ConfigError(`${fullyVisible(path)} is not JSON, line ${line}, column ${column}: ${says}`)
  }
}

const mostLevels = 20

/** What looks at a value goes into it step by step, and would not come back from one without a bottom. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; depth < mostLevels && level.length > 0; depth++)
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  return level.length > 0
}
