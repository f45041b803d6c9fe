import type { Agent } from '../core/agent.ts'
import type { Extension, Run, RunOptions } from '../core/run.ts'

/** An extension with which the host program works inside a run: with its tools, its gates and its log, without a reply of the model. */
export interface WorkInRun extends Extension {
  /** Does the work in a run of an agent that is not running; resolves with its result. Rejects as the work or the run does. */
  do<Result>(agent: Agent, work: (run: Run) => Promise<Result>, options?: WorkOptions): Promise<Result>
}

export type WorkOptions = Pick<RunOptions, 'prompt' | 'model' | 'signal' | 'meta'>

/** Give it last: what the work does passes the gates of the extensions before it. */
export function workInRun(name = 'work-in-run'): WorkInRun {
  let wanted: ((run: Run) => Promise<void>) | undefined
  return {
    name,
    async start(run) {
      const work = wanted
      wanted = undefined
      if (!work || run.parent) return
      const working = work(run)
      run.progress.pending.add(working.catch(() => {})) // a cancelled run ends after what the work still logs
      await working
      run.result.isDone = true
    },
    async do(agent, work, options = {}) {
      let result: { readonly value: Awaited<ReturnType<typeof work>> } | undefined
      wanted = async (run) => {
        result = { value: await work(run) }
      }
      try {
        await agent.run(options)
      } finally {
        wanted = undefined
      }
      if (!result) throw new Error('The agent was created without this extension; add it to its extensions')
      return result.value
    },
  }
}
