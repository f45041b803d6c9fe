import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.ts'
import type { DockerContextOptions } from './container.ts'

/** The part of dockerode that is used. */
export interface DockerClient {
  getImage(name: string): { inspect(): Promise<unknown> }
  pull(image: string): Promise<NodeJS.ReadableStream>
  createContainer(options: Record<string, unknown>): Promise<DockerContainer>
}

export interface DockerContainer {
  readonly id: string
  start(): Promise<unknown>
  inspect(): Promise<{ readonly State?: DockerState }>
  remove(options: { readonly force: boolean; readonly v: boolean }): Promise<unknown>
  exec(options: Record<string, unknown>): Promise<DockerExec>
}

export interface DockerState {
  readonly Running?: boolean
  readonly ExitCode?: number
  readonly OOMKilled?: boolean
}

export interface DockerExec {
  start(options: { readonly hijack: boolean; readonly stdin: boolean }): Promise<Duplex>
  inspect(): Promise<{ readonly Running: boolean; readonly ExitCode: number | null }>
}

type DockerEngine = NonNullable<DockerContextOptions['docker']>

/** A client for an engine. Loads the optional package dockerode. */
export async function dockerClient(given: DockerEngine = {}): Promise<DockerClient> {
  if (isClient(given)) return given
  const Docker = await loadDockerode()
  return new Docker({ ...given })
}

/** In a `try`, where bundlers accept that an optional package is missing; webpack does so nowhere else. */
async function loadDockerode() {
  try {
    const { default: Docker } = await import('dockerode')
    return Docker
  } catch (cause) {
    throw new Error('A Docker context needs the package dockerode. Install it: npm install dockerode', { cause })
  }
}

function isClient(given: DockerEngine): given is DockerEngine & DockerClient {
  return 'createContainer' in given && typeof given.createContainer === 'function'
}

/** An error of Docker, with advice if Docker cannot be reached. */
export function dockerProblem(what: string, error: unknown): Error {
  const { code, address, port } = (error ?? {}) as { code?: unknown; address?: unknown; port?: unknown }
  const where = [address, port].filter((part) => part !== undefined).join(':') || 'its socket'
  const advice = typeof code === 'string' ? unreachable[code] : undefined
  const text = advice ? `Docker does not answer at ${where} (${code}). ${advice}` : plain(messageOf(error))
  return new Error(`${what}: ${text}`, { cause: error })
}

const startIt =
  'Start Docker (`docker info` must work), or say where it is: createDockerContext({ docker: { socketPath: … } }), or DOCKER_HOST'

const unreachable: Readonly<Record<string, string>> = {
  ENOENT: startIt,
  ECONNREFUSED: startIt,
  ENOTFOUND: startIt,
  ETIMEDOUT: startIt,
  EHOSTUNREACH: startIt,
  EACCES: 'This user may not use it: add it to the group of the socket (often `docker`), or use rootless Docker',
}

/** Without dockerode's prefix: `(HTTP code 404) no such container - No such container: abc `. */
function plain(message: string): string {
  return message.replace(/^\(HTTP code \d+\) .*? - /, '').trim()
}

/** The HTTP status of a refused request. */
export function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' ? status : undefined
}
