import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { codeOf } from '../../platform/files.ts'
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
export interface ReadingOptions {
  /** The user may link his file to where he likes; a project's link would show us files that nobody trusted. */
  readonly links: 'followed' | 'refused'
}

const mostBytes = 1024 * 1024

async function readText(path: string, { links }: ReadingOptions): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const flags = O_RDONLY | O_NONBLOCK | (links === 'refused' ? O_NOFOLLOW : 0)
  const handle = await open(path, flags).catch((error: unknown) => {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw unreadable(path, problems[code ?? ''] ?? `the system says ${code}; check it, or move it away`)
  })
  if (!handle) return undefined
  try {
    const info = await handle.stat()
    if (info.isDirectory()) throw unreadable(path, problems.EISDIR!)
    if (!info.isFile()) throw unreadable(path, 'it is no regular file; put one there, or remove it')
    const buffer = Buffer.alloc(Math.min(info.size, mostBytes) + 1)
    let length = 0
    for (let read = 1; read > 0 && length < buffer.length; length += read)
      read = (await handle.read(buffer, length, buffer.length - length)).bytesRead
    if (length > mostBytes) throw unreadable(path, 'it is larger than 1 MiB; shorten it')
    return textOf(buffer.subarray(0, length), path)
  } finally {
    await handle.close()
  }
}

/** A rule with another letter in it would be another rule. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unreadable(path, 'it is not UTF-8; save it as that')
  }
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'you have no permission; `chmod u+r` it, or see whose it is with `ls -l`',
  EPERM: 'you have no permission; `chmod u+r` it, or see whose it is with `ls -l`',
  EISDIR: 'it is a folder; remove it, or put the file in its place',
  ELOOP: 'it is a link; put the file itself there',
}

function unreadable(path: string, why: string): ConfigError {
  return new ConfigError(`Cannot read ${fullyVisible(path)}: ${why}`)
}
