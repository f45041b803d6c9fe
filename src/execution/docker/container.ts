import type { SpawnConfig } from '../../core/execution.ts'
import { resolvePosix } from '../../core/execution.ts'
import { type DockerClient, type DockerContainer, dockerProblem, statusOf } from './client.ts'
import type { ContainerOptions } from './options.ts'

/** The container of one handle, as the engine wants it described. */
export interface ContainerPlan {
  readonly image: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly description: Record<string, unknown>
}

/** Finds out at once what cannot be; gives the plan for each handle. */
export function containerPlanner(options: ContainerOptions): (config: SpawnConfig) => ContainerPlan {
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

/** Whatever the image starts otherwise is not wanted here. */
const stayAlive = 'while :; do sleep 3600; done'

function hostConfig({ limits = {}, network = 'bridge', binds = [] }: ContainerOptions): Record<string, unknown> {
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

/** Creates and starts it, and sees whether it stays up; leaves nothing behind when that fails. */
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

/** Kills and removes it. That it is gone already, or going, is fine. */
export async function removeContainer(container: DockerContainer): Promise<void> {
  await container.remove({ force: true, v: true }).catch((error) => {
    const status = statusOf(error)
    if (status === 404 || (status === 409 && /removal of container .* is already in progress/.test(error.message)))
      return
    throw dockerProblem(`Docker could not remove the container ${container.id.slice(0, 12)}`, error)
  })
}
