import { visibleName } from '../../platform/visible-text.ts'

/** What a call is about, on one line: the command, the path, the pattern; else all of its input as JSON. */
export function callTitle(input: Readonly<Record<string, unknown>>, cwd: string): string {
  const main = mainArgument(input)
  if (!main) return visibleName(compact(input))
  const { key, value } = main
  const shown = isPath.test(key) ? relativeTo(cwd, value) : value.slice(0, longest)
  const { path } = input
  const where = key === 'pattern' && typeof path === 'string' && path !== '' ? ` in ${relativeTo(cwd, path)}` : ''
  return visibleName(`${shown.trim()}${where}`)
}

/** A path as somebody in that folder would write it. */
function relativeTo(cwd: string, path: string): string {
  const folder = cwd.endsWith('/') ? cwd : `${cwd}/`
  if (path === cwd) return '.'
  return (path.startsWith(folder) ? path.slice(folder.length) : path).slice(0, longest)
}

function mainArgument(
  input: Readonly<Record<string, unknown>>,
): { readonly key: string; readonly value: string } | undefined {
  for (const key of telling) {
    const value = input[key]
    if (typeof value === 'string' && value !== '') return { key, value }
  }
  return undefined
}

/** In this order: what says most. */
const telling = [
  'command',
  'pattern',
  'path',
  'file_path',
  'filePath',
  'file',
  'url',
  'query',
  'task',
  'question',
  'name',
]
const isPath = /^(?:path|file)/
/** No line of a screen is longer, and no input is looked at any further. */
const longest = 1000

/** Long texts in it are cut before they are written, not after. */
function compact(input: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(input)
  if (keys.length === 0) return ''
  try {
    const short = JSON.stringify(input, (_, value: unknown) => shortened(value))
    return short.slice(0, longest)
  } catch {
    return keys.join(', ').slice(0, longest)
  }
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.length > 80) return `${value.slice(0, 80)}…`
  return Array.isArray(value) && value.length > 20 ? [...value.slice(0, 20), '…'] : value
}
