import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendTasks } from './kills.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import { Trial } from './trial.ts'

/** Stops workers for a while, and cuts their network: when they come back, others have their sessions. */
export async function pauseWorkers(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, random, size, mutant, progress } = options
  const pauses = Math.max(1, Math.round(20 * size))
  const cuts = Math.max(1, Math.round(5 * size))
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 800 },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  const links = await Promise.all(Array.from({ length: 3 }, () => openLink(server.port)))
  try {
    const workers = links.map(({ port }) => trial.start({ url: server.url({ port }) }))
    await Promise.all(workers.map(({ ready }) => ready))
    const sending = sendTasks(trial, Math.max(20, Math.round(150 * size)))
    for (let i = 0; i < pauses + cuts; i++) {
      const victim = Math.floor(random() * workers.length)
      const ms = 9_000 + 6_000 * random()
      const isCut = i % 5 === 4
      if (isCut) links[victim]!.cut(true)
      else workers[victim]!.kill('SIGSTOP')
      // The next one begins while this one is away, so that at times all are.
      void sleep(ms).then(() => (isCut ? links[victim]!.cut(false) : workers[victim]!.kill('SIGCONT')))
      await sleep(ms * (0.5 + random() * 0.6))
      if (i % 5 === 4) progress(`${i + 1} of ${pauses + cuts} pauses`)
    }
    await sleep(15_000)
    await sending
    const isSettled = await trial.settled(240_000)
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
async function openLink(serverPort: number): Promise<{
  readonly port: number
  cut(isCut: boolean): void
  close(): void
}> {
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
