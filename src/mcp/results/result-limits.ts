/** How much of a server's answer reaches a model. */
export interface ResultLimits {
  readonly textBytes: number
  readonly images: number
  readonly blocks: number
}

export const resultLimits: ResultLimits = { textBytes: 256 * 1024, images: 20, blocks: 1000 }
