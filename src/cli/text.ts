import { cutText } from '../core/text.ts'
import { visibleName } from '../platform/visible-text.ts'
import type { Io } from './io.ts'
/** JSON in which characters that a terminal would obey or hide are escaped. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(unseen, (sign) => sign.split('').map(escaped).join(''))
}

const unseen = /[\u007f-\u009f\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\ufff9-\ufffb]/gu
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The beginning of a text, for one line of a list. */
export function shortLine(text: string): string {
  const line = visibleName(text.replace(/\s+/g, ' '))
  return cutText(line, 100)
}

/** How to call this program: `libero` if installed, else the npm command that started it. */
export function programName({ env }: Pick<Io, 'env'>, own: string = import.meta.url): string {
  if (env.npm_lifecycle_event === 'start' && !own.includes('/node_modules/')) return 'npm start --'
  return env.npm_command === 'exec' ? 'npx libero' : 'libero'
}
