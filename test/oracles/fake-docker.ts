import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type ContainerDescription, type ExecDescription, FakeContainer, FakeExec } from './fake-docker-container.ts'

export interface FakeDocker {
  readonly socketPath: string
  /** Those that were not removed. */
  readonly containers: ReadonlyMap<string, FakeContainer>
  /** All requests, such as `POST /containers/create`. */
  readonly requests: string[]
  /** What to answer instead to such lines; `hang` never answers. */
  readonly faults: Map<RegExp, { readonly status: number; readonly message: string } | 'hang'>
  close(): Promise<void>
}

export interface FakeDockerOptions {
  /** Those it has. Default `alpine`. */
  readonly images?: readonly string[]
  /** Those it can pull; the value is how that fails on the way. */
  readonly registry?: Readonly<Record<string, string | undefined>>
}

/**
 * A Docker engine on a Unix socket that speaks the part of the API which a context needs, with the real one's paths, statuses, error
 * bodies and framing. Its containers are processes of this machine.
 */
export async function startFakeDocker({
  images = ['alpine'],
  registry = {},
}: FakeDockerOptions = {}): Promise<FakeDocker> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-docker-'))
  const socketPath = join(folder, 'docker.sock')
  const local = new Set(images.map(tagged))
  const containers = new Map<string, FakeContainer>()
  const execs = new Map<string, FakeExec>()
  const requests: string[] = []
  const faults: FakeDocker['faults'] = new Map()

  const containerAt = (name: string): FakeContainer => {
    const found = [...containers.values()].find(({ id }) => id.startsWith(name))
    if (!found) throw new Refusal(404, `No such container: ${name}`)
    return found
  }
  const execAt = (id: string): FakeExec => {
    const found = execs.get(id)
    if (!found) throw new Refusal(404, `No such exec instance: ${id}`)
    return found
  }
  const onGone = (container: FakeContainer) => {
    if (container.description.HostConfig?.AutoRemove) forget(container)
  }
  const forget = (container: FakeContainer) => {
    containers.delete(container.id)
    for (const exec of execs.values()) if (exec.container === container) execs.delete(exec.id)
  }

  const routes: readonly Route[] = [
    ['GET', /^\/_ping$/, () => ({ status: 200, text: 'OK' })],
    [
      'GET',
      /^\/images\/(.+)\/json$/,
      ([name = '']) => {
        if (!local.has(tagged(name))) throw new Refusal(404, `No such image: ${tagged(name)}`)
        return { status: 200, body: { Id: 'sha256:fake', RepoTags: [tagged(name)], Os: 'linux' } }
      },
    ],
    [
      'POST',
      /^\/images\/create$/,
      (_, { query }) => {
        const image = `${query.get('fromImage')}:${query.get('tag') || 'latest'}`
        const name = Object.keys(registry).find((one) => tagged(one) === image)
        if (name === undefined)
          throw new Refusal(
            404,
            `pull access denied for ${query.get('fromImage')}, repository does not exist or may require 'docker login'`,
          )
        const error = registry[name]
        if (error === undefined) local.add(image)
        const last = error ? { errorDetail: { message: error }, error } : { status: `Status: Downloaded ${image}` }
        return {
          status: 200,
          text: `${JSON.stringify({ status: 'Pulling', id: 'latest' })}\r\n${JSON.stringify(last)}\r\n`,
        }
      },
    ],
    [
      'POST',
      /^\/containers\/create$/,
      (_, { body }) => {
        const description = body as ContainerDescription
        if (!local.has(tagged(description.Image))) throw new Refusal(404, `No such image: ${tagged(description.Image)}`)
        const memory = description.HostConfig?.Memory ?? 0
        if (memory > 0 && memory < 6 * 1024 * 1024) throw new Refusal(400, 'Minimum memory limit allowed is 6MB')
        const container = new FakeContainer(description, onGone)
        containers.set(container.id, container)
        return { status: 201, body: { Id: container.id, Warnings: [] } }
      },
    ],
    [
      'POST',
      /^\/containers\/(\w+)\/start$/,
      ([id = '']) => {
        const container = containerAt(id)
        if (container.status === 'running') return { status: 304 }
        container.start()
        return { status: 204 }
      },
    ],
    ['GET', /^\/containers\/(\w+)\/json$/, ([id = '']) => ({ status: 200, body: inspected(containerAt(id)) })],
    [
      'POST',
      /^\/containers\/(\w+)\/kill$/,
      async ([id = '']) => {
        const container = containerAt(id)
        if (container.status !== 'running')
          throw new Refusal(409, `cannot kill container: ${id}: container ${container.id} is not running`)
        await container.kill()
        return { status: 204 }
      },
    ],
    [
      'DELETE',
      /^\/containers\/(\w+)$/,
      async ([id = ''], { query }) => {
        const container = containerAt(id)
        const force = ['1', 'true'].includes(query.get('force') ?? '')
        if (container.status === 'running' && !force)
          throw new Refusal(
            409,
            `cannot remove container "${id}": container is running: stop the container before removing or force remove`,
          )
        await container.kill()
        forget(container)
        return { status: 204 }
      },
    ],
    [
      'POST',
      /^\/containers\/(\w+)\/exec$/,
      ([id = ''], { body }) => {
        const container = containerAt(id)
        if (container.status !== 'running') throw new Refusal(409, `container ${container.id} is not running`)
        const exec = new FakeExec(container, body as ExecDescription)
        execs.set(exec.id, exec)
        return { status: 201, body: { Id: exec.id } }
      },
    ],
    ['GET', /^\/exec\/(\w+)\/json$/, ([id = '']) => ({ status: 200, body: inspectedExec(execAt(id)) })],
  ]

  async function answer({ method = '', url = '' }: IncomingMessage, text: string): Promise<Answer | 'hang'> {
    const { pathname, searchParams: query } = new URL(url.replace(/^\/v1\.\d+/, ''), 'http://docker')
    const path = decodeURIComponent(pathname)
    requests.push(`${method} ${path}`)
    const fault = [...faults].find(([where]) => where.test(`${method} ${path}`))?.[1]
    if (fault === 'hang') return fault
    if (fault) throw new Refusal(fault.status, fault.message)
    for (const [wanted, pattern, respond] of routes) {
      const found = wanted === method && pattern.exec(path)
      if (found) return respond(found.slice(1), { query, body: text === '' ? undefined : JSON.parse(text) })
    }
    throw new Refusal(404, 'page not found')
  }

  const server = createServer(async (request, response) => {
    let text = ''
    for await (const bytes of request) text += bytes
    try {
      const given = await answer(request, text)
      if (given !== 'hang') send(response, given)
    } catch (error) {
      send(response, refusalOf(error))
    }
  })

  /** The client hands the connection over: after the answer it carries the command's streams. */
  server.on('upgrade', async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {})
    const id = /^(?:\/v1\.\d+)?\/exec\/(\w+)\/start$/.exec(request.url ?? '')?.[1] ?? ''
    requests.push(`${request.method} ${request.url}`)
    try {
      const exec = execAt(id)
      if (exec.started) throw new Refusal(409, `exec command ${id} has already run`)
      if (exec.container.status !== 'running') throw new Refusal(409, `container ${exec.container.id} is not running`)
      await takeBody(socket, head, Number(request.headers['content-length'] ?? 0))
      socket.write(
        'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\n' +
          'Connection: Upgrade\r\nUpgrade: tcp\r\nApi-Version: 1.51\r\n\r\n',
      )
      exec.start(socket)
    } catch (error) {
      const { status, body } = refusalOf(error)
      const text = `${JSON.stringify(body)}\n`
      socket.end(
        `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      )
    }
  })

  const sockets = new Set<Duplex>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  return {
    socketPath,
    containers,
    requests,
    faults,
    async close() {
      await Promise.all([...containers.values()].map((container) => container.kill()))
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly text?: string
}

type Route = readonly [
  method: string,
  path: RegExp,
  respond: (parts: string[], request: { query: URLSearchParams; body: unknown }) => Answer | Promise<Answer>,
]

class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

function refusalOf(error: unknown): Answer {
  const status = error instanceof Refusal ? error.status : 500
  return { status, body: { message: error instanceof Error ? error.message : String(error) } }
}

function send(response: ServerResponse, { status, body, text }: Answer): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Api-Version': '1.51',
    Server: 'Docker/fake (linux)',
  })
  response.end(text ?? (body === undefined ? undefined : `${JSON.stringify(body)}\n`))
}

/** The body of the request comes before the input of the command, on the same stream. */
async function takeBody(socket: Duplex, head: Buffer, length: number): Promise<void> {
  let taken = head
  while (taken.length < length)
    taken = Buffer.concat([taken, await new Promise<Buffer>((resolve) => socket.once('data', resolve))])
  socket.pause()
  if (taken.length > length) socket.unshift(taken.subarray(length))
}

function inspected({ id, description, status, exitCode, outOfMemory }: FakeContainer): unknown {
  const State = { Status: status, Running: status === 'running', OOMKilled: outOfMemory, ExitCode: exitCode }
  return { Id: id, State, Config: { ...description, HostConfig: undefined }, HostConfig: description.HostConfig }
}

function inspectedExec({ id, container, running, exitCode, pid }: FakeExec): unknown {
  return { ID: id, Running: running, ExitCode: exitCode, ContainerID: container.id, Pid: pid, CanRemove: false }
}

const tagged = (image: string): string => (/:[^/]*$/.test(image) || image.includes('@') ? image : `${image}:latest`)
