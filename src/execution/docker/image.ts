import { type DockerClient, dockerProblem, statusOf } from './client.ts'
import type { PullPolicy } from './options.ts'

/** Sees to it that the engine has the image. */
export async function ensureImage(docker: DockerClient, image: string, pull: PullPolicy): Promise<void> {
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

/** Progress comes as lines of JSON; a failure on the way is one of them. */
async function pulled(progress: NodeJS.ReadableStream): Promise<void> {
  let text = ''
  for await (const bytes of progress) {
    const lines = (text + String(bytes)).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) refuse(line)
  }
  refuse(text)
}

function refuse(line: string): void {
  if (!line.includes('"error"')) return
  const { error } = JSON.parse(line) as { error?: string }
  if (error) throw new Error(error)
}
