import { useState } from 'preact/hooks'
import { RemoteProblem } from '../libero.ts'

/** Something that the person starts: whether it is under way, and why it failed. */
export interface Action {
  readonly isBusy: boolean
  readonly problem?: string | undefined
  /** Resolves with whether it was done. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>
}

/** Runs what a button does, one at a time, and keeps the sentence of a failure. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await work()
      return true
    } catch (error) {
      setProblem(wordsOf(error))
      return false
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, problem, run }
}

/** A failure in one sentence. */
export function wordsOf(error: unknown): string {
  if (error instanceof RemoteProblem) return error.detail
  return error instanceof Error ? error.message : String(error)
}
