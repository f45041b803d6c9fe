import { onFailpoint } from '../src/core/log.ts'
import type { WorkerOptions } from './worker-options.ts'

/**
 * Counts the failpoints that this process passes, and kills it, stops it or lets it leave at the given one. Which entries are appended together
 * differs between runs, so each of their types is a failpoint of its own.
 */
export function listenToFailpoints({ at, lists }: WorkerOptions, leave: () => void): ReadonlyMap<string, number> {
  const passed = new Map<string, number>()
  if (!at && !lists) return passed
  onFailpoint((name) => {
    for (const point of pointsOf(name)) {
      const hit = (passed.get(point) ?? 0) + 1
      passed.set(point, hit)
      if (at?.name !== point || at.hit !== hit) continue
      if (at.signal === 'leave') leave()
      else process.kill(process.pid, at.signal)
    }
  })
  return passed
}

function pointsOf(name: string): readonly string[] {
  const [point, types] = name.split(':', 2)
  return types === undefined ? [name] : [...new Set(types.split('+'))].map((type) => `${point}:${type}`)
}
