import { readSmallText } from '../../platform/read-small-text.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import { parseConfig, parseJson } from './parse-config.ts'

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
