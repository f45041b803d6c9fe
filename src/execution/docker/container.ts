import { resolvePosix, type SpawnConfig } from '../../core/execution.ts'
import { type DockerClient, type DockerContainer, dockerProblem, statusOf } from './client.ts'

/** The description of a container for the engine. */
interface ContainerPlan {
  readonly image: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly description: Record<string, unknown>
}

/** Checks the options; returns a function that plans the container of a handle. */
export function containerPlanner(options: DockerContextOptions): (config: SpawnConfig) => ContainerPlan {
  const { image, cwd: folder = '/workspace', user } = options
  if (typeof image !== 'string' || image === '')
    throw new Error("createDockerContext needs an image, such as { image: 'node:24-slim' }")
  if (!folder.startsWith('/')) throw new Error(`cwd must be absolute inside the container, not "${folder}"`)
  const limits = hostConfig(options)

  return (config) => {
    const cwd = resolvePosix(folder, config.cwd ?? '.')
    const env = { ...options.env, ...config.env }
    const description = {
      Image: image,
      Entrypoint: ['sh', '-c', stayAlive],
      Cmd: [],
      WorkingDir: cwd,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      Labels: { libero: '1' },
      ...(user !== undefined && { User: user }),
      HostConfig: limits,
    }
    return { image, cwd, env, description }
  }
}

/** Replaces the program of the image. */
const stayAlive = 'while :; do sleep 3600; done'

function hostConfig({ limits = {}, network = 'bridge', binds = [] }: DockerContextOptions): Record<string, unknown> {
  const { memory, cpu, processes = 512 } = limits
  const bytes = memory === undefined ? undefined : Math.round(positive('memory', memory) * 1024 * 1024)
  return {
    Init: true,
    AutoRemove: true,
    NetworkMode: network,
    Binds: [...binds],
    SecurityOpt: ['no-new-privileges'],
    PidsLimit: positive('processes', processes),
    ...(bytes !== undefined && { Memory: bytes, MemorySwap: bytes }),
    ...(cpu !== undefined && { NanoCpus: Math.round(positive('cpu', cpu) * 1e9) }),
  }
}

function positive(name: string, value: string | number): number {
  const number = Number(value)
  if (Number.isFinite(number) && number > 0) return number
  throw new Error(`limits.${name} must be a number above 0, not ${JSON.stringify(value)}`)
}

/** Creates and starts a container, and checks that it stays up; removes it if that fails. */
export async function startContainer(
  docker: DockerClient,
  plan: ContainerPlan,
  isUp: (container: DockerContainer) => Promise<boolean>,
): Promise<DockerContainer> {
  const what = `Docker could not start a container from ${plan.image}`
  const container = await docker.createContainer(plan.description).catch((error) => {
    throw dockerProblem(what, error)
  })
  const failure = await container
    .start()
    .then(() => isUp(container))
    .then((up) => (up ? undefined : new Error('it does not stay up')))
    .catch((error: unknown) => dockerProblem(what, error))
  if (!failure) return container
  await removeContainer(container).catch(() => {})
  if (!/exec: "sh"|is no longer running|does not stay up/.test(failure.message)) throw failure
  const message = `A container from ${plan.image} does not stay up; tools need an image with a shell (sh, sleep)`
  throw new Error(message, { cause: failure })
}

/** Kills and removes a container. It may be gone already. */
export async function removeContainer(container: DockerContainer): Promise<void> {
  await container.remove({ force: true, v: true }).catch((error) => {
    const status = statusOf(error)
    if (status === 404 || (status === 409 && /removal of container .* is already in progress/.test(error.message)))
      return
    throw dockerProblem(`Docker could not remove the container ${container.id.slice(0, 12)}`, error)
  })
}

/** Makes sure that the engine has the image. */
export async function ensureImage(
  docker: DockerClient,
  image: string,
  pull: DockerContextOptions['pull'],
): Promise<void> {
  if (pull !== 'always' && (await hasImage(docker, image))) return
  if (pull === 'never') throw new Error(`There is no image ${image} here. Pull it: docker pull ${image}`)
  try {
    await pulled(await docker.pull(image))
  } catch (error) {
    throw dockerProblem(`Docker could not pull the image ${image}`, error)
  }
}

async function hasImage(docker: DockerClient, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect()
    return true
  } catch (error) {
    if (statusOf(error) === 404) return false
    throw dockerProblem(`Docker could not look for the image ${image}`, error)
  }
}

/** Reads the progress as lines of JSON, of which one may be a failure. */
async function pulled(progress: NodeJS.ReadableStream): Promise<void> {
  let text = ''
  for await (const bytes of progress) {
    const lines = (text + String(bytes)).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) throwIfError(line)
  }
  throwIfError(text)
}

function throwIfError(line: string): void {
  if (!line.includes('"error"')) return
  const { error } = JSON.parse(line) as { error?: string }
  if (error) throw new Error(error)
}

export interface DockerContextOptions {
  /** Any Linux image with a shell. */
  readonly image: string
  /** The working folder of tools; Docker creates it if it is missing. Default `/workspace`. */
  readonly cwd?: string
  readonly limits?: {
    /** Megabytes, swap included. */
    readonly memory?: number
    /** Processors, such as `'1.0'`. */
    readonly cpu?: string | number
    /** Processes and threads. Default 512. */
    readonly processes?: number
  }
  readonly env?: Readonly<Record<string, string>>
  /** `none` disables the network. Default `bridge`. */
  readonly network?: 'none' | 'bridge'
  /** A name or id, optionally with a group after a colon. Default: that of the image. */
  readonly user?: string
  /** Folders of this machine inside the container: `/here:/there` or `/here:/there:ro`. */
  readonly binds?: readonly string[]
  /**
   * An instance of dockerode, or its connection options: `socketPath`, or `host` and `port`, and so on. Default: the engine
   * of this machine, or DOCKER_HOST.
   */
  readonly docker?: object & { readonly socketPath?: string; readonly host?: string; readonly port?: number | string }
  /** When to fetch the image from its registry. Default `missing`. */
  readonly pull?: 'missing' | 'always' | 'never'
}
