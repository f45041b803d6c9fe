import type { ToolDef } from '../core/tool.ts'
import { glob } from '../tools/glob.ts'
import { grep } from '../tools/grep.ts'
import { basicTools } from './basic.ts'

const { spawn: _light, ...heavy } = basicTools

/** The whole tools behind those of `lazy-tools.ts`. */
export const lazyToolSet: Readonly<Record<'glob' | 'grep' | keyof typeof heavy, ToolDef>> = { ...heavy, glob, grep }
