docker run --runtime nvidia --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface --ipc=host -p 8000:8000 \
    vllm/vllm-openai:v0.9.2 --model Qwen/Qwen2.5-7B-Instruct -tp 1
