import type { ToolDef } from '../core/tool.ts'
import { edit } from '../tools/edit.ts'
import { glob } from '../tools/glob.ts'
import { grep } from '../tools/grep.ts'
import { listFiles } from '../tools/list-files.ts'
import { multiEdit } from '../tools/multi-edit.ts'
import { readFile } from '../tools/read-file.ts'
import { createShellTool } from '../tools/shell.ts'
import { spawn } from '../tools/spawn.ts'
import { writeFile } from '../tools/write-file.ts'
import { definePreset } from './preset.ts'

/** Commands, files and child agents. Without background jobs, which need two more tools: see `coding`. */
export const basicTools = {
  shell: createShellTool({ background: false }),
  readFile,
  writeFile,
  edit,
  multiEdit,
  listFiles,
  spawn,
}

/** Tools for working on files. */
export const basic = definePreset({ name: 'basic', tools: basicTools })

const { spawn: _light, ...heavy } = basicTools

/** The complete tools behind those of `lazy-tools.ts`. */
export const lazyToolSet: Readonly<Record<'glob' | 'grep' | keyof typeof heavy, ToolDef>> = { ...heavy, glob, grep }
