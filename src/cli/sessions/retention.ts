import { fullyVisible } from '../../platform/visible-text.ts'
import type { PruneOptions } from '../../sessions/prune.ts'
import { UsageError } from '../cli-error.ts'
import type { ConfiguredRetention } from '../config/config.ts'

const units: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** `30d`, `12h` or `8w` in milliseconds. */
export function readAge(text: string, flag: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([hdw])$/.exec(text.trim()) ?? []
  if (count === undefined)
    throw new UsageError(`${flag} takes an age such as 12h, 30d or 8w, got "${fullyVisible(text.slice(0, 40))}"`)
  return Number(count) * units[unit]!
}

const sizes: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }

/** `500MB` or `2GB` in bytes. */
export function readSize(text: string, flag: string): number {
  const [, count, unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?) ?([kmgt]?b)$/i.exec(text.trim()) ?? []
  if (count === undefined)
    throw new UsageError(`${flag} takes a size such as 500MB or 2GB, got "${fullyVisible(text.slice(0, 40))}"`)
  return Number(count) * sizes[unit.toUpperCase()]!
}

/** Whether the settings limit what is kept of sessions. */
export const limitsSessions = ({ maxAgeDays, maxSessions, maxSize }: ConfiguredRetention): boolean =>
  maxAgeDays !== undefined || maxSessions !== undefined || maxSize !== undefined

/** The settings as options of `pruneSessions`. */
export function retentionOptions({ maxAgeDays, maxSessions, maxSize, keepTags }: ConfiguredRetention): PruneOptions {
  return {
    ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * units.d! }),
    ...(maxSessions !== undefined && { maxSessions }),
    ...(maxSize !== undefined && { maxBytes: readSize(maxSize, 'the setting retention.maxSize') }),
    ...(keepTags && { keepTags }),
  }
}
