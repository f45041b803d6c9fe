import { UsageError } from '../cli-error.ts'

/** Somebody gave a key as a word. It is not shown again. */
export function keyAsWord(): UsageError {
  return new UsageError(
    'a key is never an argument, since every user of this machine could read it: leave it out and type it when asked, or pipe it in with --key-stdin; if that was a key, replace it by a new one',
  )
}
