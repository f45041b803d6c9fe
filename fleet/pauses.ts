import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendTasks } from './kills.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import type { WorkerProcess } from './processes.ts'
import { Trial } from './trial.ts'

/** A worker that is away costs no processor time, so many may be away at once. */
const workerCount = 12

/**
 * Stops workers for 5 to 60 seconds, and cuts their network: when they come back, others have their sessions. Each worker has
 * its own turn of work and absence, so that sometimes most of them are away.
 */
export async function pauseWorkers(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, random, size, mutant, progress } = options
  const pauses = Math.max(1, Math.round(100 * size))
  const cuts = Math.max(1, Math.round(20 * size))
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 800 },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  const links = await Promise.all(Array.from({ length: workerCount }, () => openLink(server.port)))
  try {
    const workers = links.map(({ port }) => trial.start({ url: server.url({ port }) }))
    await Promise.all(workers.map(({ ready }) => ready))
    let isOver = false
    const sending = sendTasks(trial, Math.max(40, Math.round(150 * size)), () => isOver)
    let begun = 0
    const disturb = async (worker: WorkerProcess, link: Link): Promise<void> => {
      while (begun < pauses + cuts) {
        begun++
        const isCut = begun % Math.ceil((pauses + cuts) / cuts) === 0
        if (begun % 20 === 0) progress(`${begun} of ${pauses + cuts} pauses`)
        await sleep(4000 + 12_000 * random())
        if (isCut) link.cut(true)
        else worker.kill('SIGSTOP')
        await sleep(5000 * 12 ** random()) // as often 5 to 10 seconds as 30 to 60
        if (isCut) link.cut(false)
        else worker.kill('SIGCONT')
      }
    }
    await Promise.all(workers.map((worker, i) => disturb(worker, links[i]!)))
    isOver = true
    await sending
    const isSettled = await trial.settled()
    const died = workers
      .filter(({ isOver }) => isOver)
      .map(({ name, stderr }) => `${name} ended: ${stderr.slice(-300)}`)
    const result = await resultOf(trial, { isSettled, failures: died })
    return { ...result, pauses: pauses + cuts, shown: `${pauses} pauses, ${cuts} cuts, ${result.shown}` }
  } finally {
    await trial.close()
    for (const link of links) link.close()
  }
}

/** A way to the server that can be cut: nothing passes, and neither side is told. */
interface Link {
  readonly port: number
  cut(isCut: boolean): void
  close(): void
}

async function openLink(serverPort: number): Promise<Link> {
  const sockets = new Set<Socket>()
  let isDown = false
  const listener = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      if (isDown) from.pause()
      from.on('data', (bytes) => void to.write(bytes))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    if (isDown) client.pause()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    cut(isCut) {
      isDown = isCut
      for (const socket of sockets)
        if (isCut) socket.pause()
        else socket.resume()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      listener.close()
    },
  }
}
