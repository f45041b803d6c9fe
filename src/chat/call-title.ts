import { visibleName } from '../platform/visible-text.ts'

/** The main argument of a call on one line: the command, the path, the pattern; else the whole input as JSON. */
export function callTitle(input: Readonly<Record<string, unknown>>, cwd: string): string {
  if (Array.isArray(input.todos)) return '' // the list stands below
  const key = mainKeys.find((name) => typeof input[name] === 'string' && input[name] !== '')
  if (key === undefined) return visibleName(compactJson(input))
  const value = String(input[key])
  const shown = isPath.test(key) ? relativeTo(cwd, value) : textOfKey(key, value).slice(0, longest)
  const { path } = input
  const where = key === 'pattern' && typeof path === 'string' && path !== '' ? ` in ${relativeTo(cwd, path)}` : ''
  return visibleName(`${shown.trim()}${where}`)
}

/** A plan is called by its first line; the dialog has shown the rest. */
const textOfKey = (key: string, value: string): string =>
  key === 'plan' ? (value.trim().split('\n')[0] ?? '').replace(/^#+\s*/, '') : value

function relativeTo(cwd: string, path: string): string {
  const folder = cwd.endsWith('/') ? cwd : `${cwd}/`
  if (path === cwd) return '.'
  return (path.startsWith(folder) ? path.slice(folder.length) : path).slice(0, longest)
}

/** The most informative first. */
const mainKeys = [
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
  'plan',
  'name',
]
const isPath = /^(?:path|file)/
/** No line of a screen is longer. */
const longest = 1000

/** Cuts long texts before it writes JSON, not after. */
function compactJson(input: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(input)
  if (keys.length === 0) return ''
  try {
    return JSON.stringify(input, (_, value: unknown) => shortened(value)).slice(0, longest)
  } catch {
    return keys.join(', ').slice(0, longest)
  }
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.length > 80) return `${value.slice(0, 80)}…`
  return Array.isArray(value) && value.length > 20 ? [...value.slice(0, 20), '…'] : value
}
