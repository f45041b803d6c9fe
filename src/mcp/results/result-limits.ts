/** How much of a server's answer reaches a model. */
export const resultLimits = { textBytes: 256 * 1024, images: 20, blocks: 1000 }
