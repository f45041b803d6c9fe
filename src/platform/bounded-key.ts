import { digestOf } from './digest.ts'
import { visibleName } from './visible-text.ts'

/** Approval keys are short and printable; anything else is known by its digest. */
export function boundedKey(key: string): string {
  const isPlain = key !== '' && visibleName(key) === key && new TextEncoder().encode(key).length <= 1024
  return isPlain ? key : `sha256:${digestOf(key)}`
}
