import type { Writable } from 'node:stream'
import { outputFailure } from '../failures/output-failure.ts'

/** Throws where frames could not be written for a reason that somebody can mend, as a full disk; a reader may just go. */
export function checkWritten({ errored }: Writable): void {
  const { error } = outputFailure(errored)
  if (error) throw error
}
