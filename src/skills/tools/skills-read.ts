import { isUtf8 } from 'node:buffer'
import type { FileHandle } from 'node:fs/promises'
import { posix } from 'node:path'
import type { ToolDef, ToolResult } from '../../core/tool.ts'
import { boundedKey } from '../../platform/digest.ts'
import { imageInfo, isCompleteImage, maxImageBase64, maxImageSide } from '../../platform/image-info.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { activeSkill, findSkill, type RunSkills } from '../active-skills.ts'
import { pathProblem, withSkillFile } from '../skill-files.ts'

const description = `Reads a file that comes with an active skill, such as references/forms.md. Images are shown.`

interface SkillsReadInput {
  readonly name: string
  readonly path: string
  readonly offset?: number
}

/** The tool by which a model reads the files of a skill. */
export function createSkillsRead(host: RunSkills): ToolDef<SkillsReadInput> {
  const folderOf = (name: string): string | undefined => findSkill(host.skills, name)?.folder
  return {
    spec: {
      name: 'skills_read',
      description,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Of the skill.' },
          path: { type: 'string', description: "Relative to the skill's folder." },
          offset: { type: 'integer', description: 'Line to start at. Default 1.' },
        },
        required: ['name', 'path'],
      },
    },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    touches({ name, path }) {
      const folder = folderOf(name)
      return folder === undefined ? [] : [{ path: posix.join(folder, path), access: 'read' }]
    },
    deriveApprovalKey: ({ name }) => boundedKey(folderOf(name) ?? name),
    timeoutMs: 30_000,
    // No approval is requested for a file that cannot be read.
    check({ name, path }) {
      const problem = findSkill(host.skills, String(name)) ? pathProblem(String(path)) : `there is no skill "${name}"`
      return problem === undefined ? undefined : { valid: false, error: problem }
    },
    execute: ({ name, path, offset = 1 }) =>
      withSkillFile(activeSkill(host, name), path, (file) => show(file, path, offset)),
  }
}

/** Base64 adds a third, and services limit the size of images. */
const mostBytes = Math.floor((maxImageBase64 / 4) * 3)
const mostShown = 65_536

async function show(file: FileHandle, path: string, offset: number): Promise<ToolResult> {
  const { size } = await file.stat()
  const name = visibleName(path)
  if (size > mostBytes) throw new Error(`${name} has ${size} bytes, and at most ${mostBytes} can be read`)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, 0)
  const bytes = buffer.subarray(0, bytesRead)
  if (isUtf8(bytes) && !bytes.includes(0)) return lines(bytes.toString('utf8'), offset)
  const data = bytes.toString('base64')
  const image = imageInfo(data)
  if (!image?.width || !image.height || Math.max(image.width, image.height) > maxImageSide)
    return `[${name}: no text, ${bytesRead} bytes]`
  if (!isCompleteImage(bytes, image)) return `[${name}: an image that breaks off, ${bytesRead} bytes]`
  return [
    { type: 'text', text: `${name}: ${image.type}, ${image.width}×${image.height}, ${bytesRead} bytes` },
    { type: 'image', mediaType: image.type, data },
  ]
}

function lines(text: string, offset: number): string {
  const all = text.split('\n')
  const rest = all.slice(Math.max(0, offset - 1)).join('\n')
  if (rest.length <= mostShown) return rest === '' ? '[nothing there]' : rest
  const shown = rest.slice(0, mostShown)
  const next = Math.max(1, offset) + shown.split('\n').length - 1
  return `${shown}\n[cut: it goes on in line ${next} of ${all.length}; use offset]`
}
