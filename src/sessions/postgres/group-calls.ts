/** How the calls of a group are made. */
export interface GroupSteps<Call, Result> {
  /** Makes all calls or none; resolves with the result of each. Null for a call that was left out, and is then made alone. */
  together(calls: readonly Call[]): Promise<readonly (Result | null)[]>
  alone(call: Call): Promise<Result>
  /** Whether a failure of the group counts as the failure of each call. If not, each call is made alone. */
  isFailureOfAll(error: unknown): boolean
  /** The size of one call. Default 1. */
  sizeOf?(call: Call): number
  /** The maximum size of a group. A larger call is a group of its own. */
  readonly maxSize: number
}

/** A group may wait for a lock. The next group starts after this time at the latest. */
const patienceMs = 100

/**
 * Makes calls in groups: the calls that come while a group is under way form the next group. A call that meets no other call is
 * made alone, at the end of the turn of the event loop. Each call has its own result, and its own failure.
 */
export function groupCalls<Call, Result>(steps: GroupSteps<Call, Result>): (call: Call) => Promise<Result> {
  const { together, alone, isFailureOfAll, sizeOf = () => 1, maxSize } = steps
  const waiting: Waiting<Call, Result>[] = []
  let isWorking = false

  async function workThroughAll(): Promise<void> {
    while (waiting.length > 0) {
      // Calls made in the same turn of the event loop share a group. So do the next calls of callers that have just got a result.
      await new Promise((resolve) => setImmediate(resolve))
      const group = takeGroup()
      await waitAtMost(patienceMs, group.length > 1 ? callTogether(group) : callAlone(group[0]!))
    }
    isWorking = false
  }

  function takeGroup(): Waiting<Call, Result>[] {
    let size = 0
    const end = waiting.findIndex(({ call }, i) => {
      size += sizeOf(call)
      return i > 0 && size > maxSize
    })
    return waiting.splice(0, end === -1 ? waiting.length : end)
  }

  const callAlone = ({ call, resolve, reject }: Waiting<Call, Result>): Promise<void> =>
    alone(call).then(resolve, reject)

  async function callTogether(group: readonly Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await together(group.map(({ call }) => call))
      const leftOut = group.filter((_, i) => results[i] === null)
      for (const [i, { resolve }] of group.entries()) if (results[i] !== null) resolve(results[i]!)
      await Promise.all(leftOut.map(callAlone))
    } catch (error) {
      if (isFailureOfAll(error)) for (const { reject } of group) reject(error)
      else await Promise.all(group.map(callAlone))
    }
  }

  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      if (isWorking) return
      isWorking = true
      void workThroughAll()
    })
}

interface Waiting<Call, Result> {
  readonly call: Call
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Resolves when the work has ended, at the latest after this time. */
function waitAtMost(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
