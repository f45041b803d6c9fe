import { onFailpoint } from '../src/core/log.ts'
import type { WorldOptions } from './world-options.ts'

/**
 * Counts the failpoints that this process passes, and ends it at the one it is told. Entries that are written together
 * differ from run to run, so each type among them is a point of its own.
 */
export function listenToFailpoints({ at, lists }: WorldOptions): ReadonlyMap<string, number> {
  const passed = new Map<string, number>()
  if (!at && !lists) return passed
  onFailpoint((name) => {
    for (const point of pointsOf(name)) {
      const hit = (passed.get(point) ?? 0) + 1
      passed.set(point, hit)
      if (at && at.name === point && at.hit === hit) process.kill(process.pid, at.signal)
    }
  })
  return passed
}

function pointsOf(name: string): readonly string[] {
  const [place, types] = name.split(':', 2)
  return types === undefined ? [name] : [...new Set(types.split('+'))].map((type) => `${place}:${type}`)
}
