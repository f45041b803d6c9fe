import { readFile, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { ImageBlock } from '../../core/turn.ts'
import { imageInfo } from '../../platform/image-info.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { jsonProblem } from '../config/json-problem.ts'
import type { Io } from '../io.ts'

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

/** The JSON Schema that `--schema` names. */
export async function readSchema(named: string, cwd: string): Promise<JsonSchema> {
  const shown = fullyVisible(named)
  const text = await readFile(resolve(cwd, named), 'utf8').catch((error) => {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(error)})`
    throw new UsageError(`--schema ${shown}: ${why}; name a file with a JSON Schema`, { cause: error })
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new UsageError(`--schema ${shown} is not JSON, line ${line}, column ${column}: ${says}`, { cause })
  }
  if (!isRecord(value))
    throw new UsageError(`--schema ${shown} must hold a JSON object such as { "type": "object", … }`)
  return value
}

/** The folder that `--cwd` names, else the present one. A folder that is gone can still be left by an absolute path. */
export async function resolveCwd(named: string | undefined, io: Pick<Io, 'cwd'>): Promise<string> {
  if (named === undefined) return io.cwd
  const path = isAbsolute(named) ? resolve(named) : resolve(io.cwd, named)
  const shown = fullyVisible(named)
  const info = await stat(path).catch((cause) => {
    throw new UsageError(`--cwd ${shown}: there is no such folder, or you may not enter it; check the path`, { cause })
  })
  if (!info.isDirectory()) throw new UsageError(`--cwd ${shown} is a file; name a folder`)
  return path
}
