import { isAbsolute, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Paint } from '../terminal/paint.ts'
import type { Style } from './spans.ts'

/**
 * A style that makes text a link of the terminal (OSC 8). It is applied to each row, so a link that is wrapped is opened
 * anew in every one. The address comes from `linkAddress`, which leaves no character that could end the sequence.
 */
export function hyperlink(address: string | undefined, paint: Paint): Style | undefined {
  // Where there are no colours there may be no terminal.
  if (address === undefined || paint.bold('x') === 'x') return undefined
  const open = `\x1b]8;id=${idOf(address)};${address}\x1b\\`
  return (text) => (text === '' ? '' : `${open}${text}\x1b]8;;\x1b\\`)
}

/** Joins the rows of one link for the terminal. */
function idOf(address: string): string {
  let hash = 0
  for (let i = 0; i < address.length; i++) hash = (hash * 31 + address.charCodeAt(i)) >>> 0
  return hash.toString(36)
}

/** What may be linked: web and mail addresses, and files inside the folder; `undefined` for all else. */
export function linkAddress(target: string, folder: string | undefined): string | undefined {
  const url = URL.parse(target)
  if (url) return schemes.includes(url.protocol) ? safe(url.href) : undefined
  if (folder === undefined || !isPath.test(target)) return undefined
  const path = resolve(folder, target.replace(/[#?].*$/, ''))
  const inside = relative(folder, path)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) return undefined
  return safe(pathToFileURL(path).href)
}

/** Terminals ignore longer ones. */
const safe = (address: string): string | undefined =>
  address.length <= 2000 && /^[\x21-\x7e]+$/.test(address) ? address : undefined

const schemes: readonly string[] = ['http:', 'https:', 'mailto:']
const isPath = /^[\w./~ -][\w./#?=~ -]{0,300}$/
