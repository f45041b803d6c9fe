import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import type { ImageBlock } from '../../core/turn.ts'
import { imageInfo } from '../../platform/image-info.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'

const mostBytes = 20 * 1024 * 1024

/** The pictures that `--image` names, by what their bytes are. */
export async function readImages(paths: readonly string[], cwd: string): Promise<ImageBlock[]> {
  return Promise.all(paths.map((path) => readImage(path, resolve(cwd, path))))
}

async function readImage(named: string, path: string): Promise<ImageBlock> {
  const shown = fullyVisible(named)
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(error)})`
    throw new UsageError(`--image ${shown}: ${why}; name a picture (a container's image needs --context docker)`, {
      cause: error,
    })
  }
  if (bytes.length > mostBytes)
    throw new CliError(
      `--image ${shown} has ${bytes.length} bytes, and a picture may have ${mostBytes}; make it smaller`,
    )
  const data = bytes.toString('base64')
  const info = imageInfo(data)
  if (!info) throw new UsageError(`--image ${shown} is no PNG, JPEG, GIF or WebP; convert it to one of them`)
  return { type: 'image', mediaType: info.type, data }
}
