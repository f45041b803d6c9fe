import { readSmallText } from '../../platform/read-small-text.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { ConfigError, checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { jsonProblem } from './json-problem.ts'

/** Reads and checks a `config.json`; undefined if there is none. */
export async function readConfig(path: string, options: ReadingOptions): Promise<Config | undefined> {
  const text = await readText(path, options)
  return text === undefined ? undefined : parseConfig(text, path)
}

/** Reads a file as JSON, unchecked; undefined if there is none. */
export async function readJson(path: string, options: ReadingOptions): Promise<unknown> {
  const text = await readText(path, options)
  return text === undefined ? undefined : parseJson(text, path)
}

interface ReadingOptions {
  /** The user's own file may be a link; a link in a project could lead to files that are not trusted. */
  readonly links: 'followed' | 'refused'
}

function readText(path: string, { links }: ReadingOptions): Promise<string | undefined> {
  const refuse = (code: string): ConfigError =>
    new ConfigError(`Cannot read ${fullyVisible(path)}: ${problems[code] ?? `${code}; check it, or move it elsewhere`}`)
  return readSmallText(path, { mostBytes: 1024 * 1024, links, refuse })
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'you have no permission; `chmod u+r` it, or check with `ls -ld` who owns it and its folder',
  EPERM: 'you have no permission; `chmod u+r` it, or check with `ls -l` who owns it',
  EISDIR: 'it is a folder; replace it by a file, or remove it',
  ELOOP: 'it is a link; replace it by the file itself',
  EFTYPE: 'it is not a regular file; replace it by one, or remove it',
  EFBIG: 'it is larger than 1 MiB; shorten it',
  EILSEQ: 'it is not UTF-8; save it as UTF-8',
}

/** Parses and checks the text of a `config.json`. `$schema`, which is for editors, is left out. */
function parseConfig(text: string, path: string): Config {
  const value = parseJson(text, path)
  checkConfig(value, path)
  const { $schema: _, ...config } = value as Config & { $schema?: string }
  return config
}

/** Parses JSON; the error names the line and column of the mistake. */
function parseJson(text: string, path: string): unknown {
  const value = jsonIn(text, path)
  if (isDeep(value)) throw new ConfigError(`${fullyVisible(path)} is nested too deeply for settings`)
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

const maxLevels = 20

/** Whether a value is nested so deeply that recursive checks could overflow the stack. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; depth < maxLevels && level.length > 0; depth++)
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  return level.length > 0
}
