import { type Brand, killStrays } from './strays.ts'

/** Belongs to the process, as its end does. */
const running = new Set<Brand>()

/** When this process exits before `release` is called, what carries the brand is killed with it. */
export function guardExit(brand: Brand): () => void {
  if (running.size === 0) process.on('exit', killAll)
  running.add(brand)
  return function release() {
    if (running.delete(brand) && running.size === 0) process.off('exit', killAll)
  }
}

function killAll(): void {
  for (const brand of running) killStrays(brand)
}
