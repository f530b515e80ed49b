// A component that draws a floor of a tower with instanced meshes.
#pragma once

#include "Components/SceneComponent.h"
#include "CoreMinimal.h"
#include "TowerFloorComponent.generated.h"

class UInstancedStaticMeshComponent;
class UStaticMesh;

UCLASS(ClassGroup = (Floors), meta = (BlueprintSpawnableComponent))
class TOWERFLOORS_API UTowerFloorComponent : public USceneComponent
{
    GENERATED_BODY()

public:
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Floor")
    int64 Seed = 42;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Floor", meta = (ClampMin = 1, ClampMax = 1000000))
    int32 Number = 7;

    // One edge of a cell, in centimetres.
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Floor")
    float CellSize = 100.f;

    // Meshes of 100 cm edge length, with their origin in the middle.
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Floor")
    TObjectPtr<UStaticMesh> GroundMesh;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Floor")
    TObjectPtr<UStaticMesh> WallMesh;

    // Draws the floor in the place of what was drawn before. False, with an error in the log, if there is no such floor.
    UFUNCTION(BlueprintCallable, Category = "Floor")
    bool Generate();

    // Where a player arrives, in the world. Set by Generate.
    UPROPERTY(BlueprintReadOnly, Category = "Floor")
    FVector Entry = FVector::ZeroVector;

    // What the floor is called and a sentence about it, or nothing. Set by Generate.
    UPROPERTY(BlueprintReadOnly, Category = "Floor")
    FString Name;

    UPROPERTY(BlueprintReadOnly, Category = "Floor")
    FString Hook;

protected:
    virtual void BeginPlay() override;

private:
    UPROPERTY(Transient)
    TObjectPtr<UInstancedStaticMeshComponent> Ground;

    UPROPERTY(Transient)
    TObjectPtr<UInstancedStaticMeshComponent> Walls;
};
