import type { Key } from './key.ts'

/** The name of a key for tables: `ctrl+w`, `alt+b`, `shift+enter`, `up`. Text, focus and reports have none. */
export function keyName(key: Key): string | undefined {
  if (key.type === 'text' || key.type === 'focus' || key.type === 'report') return undefined
  if (key.type === 'ctrl') return `ctrl+${key.key}`
  if (key.type === 'alt') return `alt+${key.key.toLowerCase()}`
  return `${key.ctrl ? 'ctrl+' : ''}${key.alt ? 'alt+' : ''}${key.shift ? 'shift+' : ''}${key.type}`
}
