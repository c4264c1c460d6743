#!/bin/bash
# One server, two GPUs.
export HF_TOKEN=not-a-real-token
MODEL=meta-llama/Llama-3.1-70B-Instruct

CUDA_VISIBLE_DEVICES=0,1 vllm serve "$MODEL" \
  --tensor-parallel-size 2 \
  --dtype bfloat16 --quantization fp8 --kv-cache-dtype fp8 \
  --max-model-len 32k --max-num-seqs=256 --gpu-memory-utilization 0.92 \
  --enable-prefix-caching --api-key "$KEY" --port 8000 > server.log 2>&1 &
