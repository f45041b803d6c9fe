import { timingSafeEqual } from 'node:crypto'
import type { StreamedEvent } from '../events/event-queue.ts'
import { joinRun, type LiveFeed } from '../events/live-feed.ts'
import { followRuns, liveRun } from '../events/live-runs.ts'
import type { Fleet, Worker, WorkerStatus } from './fleet.ts'

/**
 * What a worker answers over HTTP: `/healthz`, `/readyz`, `/metrics` in the text format of Prometheus, and `/runs/{id}`, what a
 * run of this process streams, as JSON lines.
 */
export function workerHandler({
  fleet,
  worker,
  key,
}: {
  readonly fleet: Pick<Fleet, 'store'>
  readonly worker: Worker
  /** Servers send it for what runs stream: the password in the `address` of the worker. Without it nothing is streamed. */
  readonly key?: string
}): (request: Request) => Promise<Response> {
  const answers: Readonly<Record<string, () => Response | Promise<Response>>> = {
    '/healthz': () => text('ok\n'),
    '/readyz': async () => {
      if (worker.status().state !== 'working') return text('draining\n', 503)
      const isThere = await fleet.store.list({ limit: 1 }).then(
        () => true,
        () => false,
      )
      return isThere ? text('ready\n') : text('the store does not answer\n', 503)
    },
    '/metrics': () => text(metricsOf(worker.status()), 200, 'text/plain; version=0.0.4'),
  }
  return async (request) => {
    if (request.method !== 'GET') return text('only GET is allowed here\n', 405)
    const { pathname } = new URL(request.url)
    const answer = answers[pathname]
    if (answer) return answer()
    const runId = /^\/runs\/([\w-]+)$/.exec(pathname)?.[1]
    if (runId === undefined) return text('there is no such path\n', 404)
    if (key === undefined || !isSame(request.headers.get('authorization') ?? '', `Bearer ${key}`))
      return text('the key is missing or wrong\n', 401)
    return streamOf(runId)
  }
}

const text = (body: string, status = 200, type = 'text/plain'): Response =>
  new Response(body, { status, headers: { 'content-type': type, 'cache-control': 'no-store' } })

/** In a time that does not depend on where they differ. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** A reader that leaves more than this unread gets nothing until it has read all; then it learns how much it lost. */
const mostUnread = 1024 * 1024

function streamOf(runId: string): Response {
  const run = liveRun(runId)
  if (!run) return text('no such run is under way here\n', 404)
  const encoder = new TextEncoder()
  const { session } = run
  let feed: LiveFeed | undefined
  let stopFollowing = (): void => {}
  let lost = 0
  const leave = (): void => {
    feed?.leave()
    stopFollowing()
  }
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (event: StreamedEvent): void => controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`))
        feed = joinRun(run, (event) => {
          if ((controller.desiredSize ?? 0) > 0) write(event)
          else if (event.type !== 'snapshot') lost++
        })
        stopFollowing = followRuns(session!.store!, session!.id, (now) => {
          if (now === run) return
          leave()
          controller.close()
        })
      },
      pull(controller) {
        if (lost === 0) return
        const gap: StreamedEvent = { durable: false, type: 'gap', after: run.log.head, lost }
        lost = 0
        controller.enqueue(encoder.encode(`${JSON.stringify(gap)}\n`))
        feed?.snapshot()
      },
      cancel: leave,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: mostUnread }),
  )
  return new Response(stream, { headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' } })
}

/** The numbers of a worker in the text format of Prometheus. */
function metricsOf({ waits, ...status }: WorkerStatus): string {
  const gauge = (name: string, help: string, value: number): string[] =>
    describe(name, help, 'gauge', [`${name} ${value}`])
  const counter = (name: string, help: string, value: number): string[] =>
    describe(name, help, 'counter', [`${name} ${value}`])
  let sum = 0
  const buckets = waits.buckets.map(({ upToMs, count }) => {
    sum += count
    const limit = Number.isFinite(upToMs) ? String(upToMs / 1000) : '+Inf'
    return `libero_dispatch_wait_seconds_bucket{le="${limit}"} ${sum}`
  })
  const lines = [
    ...gauge('libero_worker_runs', 'Sessions that this worker works on', status.running),
    ...gauge('libero_worker_slots', 'Sessions that it can work on at once', status.concurrency),
    ...gauge('libero_worker_draining', '1 if it takes nothing new', status.state === 'working' ? 0 : 1),
    ...gauge('libero_worker_alone', '1 while one session runs alone', status.alone === undefined ? 0 : 1),
    ...counter('libero_worker_jobs_total', 'Jobs that it has claimed', status.claimed),
    ...counter('libero_worker_runs_total', 'Runs that it began', status.runs),
    ...counter('libero_worker_takeovers_total', 'Sessions that it took over from a dead process', status.takeovers),
    ...counter('libero_worker_left_total', 'Runs that it left to other workers', status.left),
    ...counter('libero_worker_failures_total', 'Jobs that failed with an error that no log has', status.failures),
    ...gauge('libero_memory_bytes', 'Resident memory of the process', process.memoryUsage.rss()),
    ...describe('libero_dispatch_wait_seconds', 'How long jobs waited for this worker', 'histogram', [
      ...buckets,
      `libero_dispatch_wait_seconds_sum ${waits.sumMs / 1000}`,
      `libero_dispatch_wait_seconds_count ${waits.count}`,
    ]),
  ]
  return `${lines.join('\n')}\n`
}

const describe = (name: string, help: string, type: string, lines: readonly string[]): string[] => [
  ...[`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`],
  ...lines,
]
